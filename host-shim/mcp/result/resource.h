/* SPDX-License-Identifier: Apache-2.0 */
/* Kept files as resources: those that a client's calls have left, and the content of any. Any
 * thread. */
#pragma once

#include <jansson.h>
#include <pthread.h>
#include <stdint.h>

#include "files/artifact_store.h"
#include "formats/result_file.h"

#define RESOURCES_MOST 1024u /* of one client; later ones take the place of the oldest */
#define RESOURCES_PAGE 100u

/* The URIs of the files that one client was told of, the oldest first: another client's are not
 * its to see. */
struct resource_list {
    pthread_mutex_t lock;
    char *uris[RESOURCES_MOST]; /* owned; the one of number N is at N modulo their count */
    uint64_t added;
};

void resource_list_init(struct resource_list *ret);
void resource_list_clear(struct resource_list *list);

/* Adds what an output's "files" and "results" name, where it can be one of toolhost's own. */
void resource_list_add(struct resource_list *list, const json_t *output);

/* The result of resources/list, new: "resources" that are still kept, and "nextCursor" where there
 * are more. cursor: the client's; NULL: the first page. NULL fills the failure (code
 * "unknown_cursor"). */
json_t *resource_list_page(struct resource_list *list, const struct artifact_store *artifacts,
                           const json_t *cursor, struct failure *failure);

/* A file as lists and links describe it, new. */
json_t *resource_describe(const struct result_file *file);

/* "contents", new: text where the file is one, else Base64. NULL fills the failure: there is none
 * of that URI (any more), or it is too large for a message. */
json_t *resource_contents(const struct artifact_store *artifacts, const char *uri,
                          struct failure *failure);
