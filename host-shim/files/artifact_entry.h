/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One kept file's entry and its URI, toolhost://run/ID/PATH. Any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"

#define ARTIFACT_ID_DIGITS 32u
#define ARTIFACT_ID_SIZE   (ARTIFACT_ID_DIGITS + 1)
#define ARTIFACT_SUFFIX    ".json"

/* The ID in a URI, in the name of a file of the store, or by itself; false: it has none. */
bool artifact_id_of_uri(const char *text, char ret[ARTIFACT_ID_SIZE]);
bool artifact_id_of_entry_name(const char *name, char ret[ARTIFACT_ID_SIZE]);
bool artifact_id_of_content_name(const char *name, char ret[ARTIFACT_ID_SIZE]);

struct artifact_facts {
    char id[ARTIFACT_ID_SIZE];
    uint64_t number; /* larger than that of any file kept before: many are kept in one second */
    uint64_t size;   /* bytes */
    char sha256[SHA256_HEX + 1];
    int64_t created; /* seconds since 1970, as expires */
    int64_t expires;
};

/* New; NULL when out of memory. file has "path", "mime_type" and "active". */
json_t *artifact_entry_make(const struct artifact_facts *facts, const json_t *file);
/* The entry in the store's directory, new; NULL: it is not there, or no entry. */
json_t *artifact_entry_read(int directory, const char *id);
bool artifact_entry_write(int directory, const char *id, const json_t *entry);
/* Removes the entry, and the content with it. */
void artifact_entry_remove(int directory, const char *id);
