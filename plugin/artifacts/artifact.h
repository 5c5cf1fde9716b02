/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that a run has left, as its result names it, and the type that it is taken for. Owned by
 * one call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/file_frames.h"
#include "json/canonical.h"
#include "json/json_text.h"

#define ARTIFACT_URI_LIMIT 1024 /* bytes of the name that a host gives a file */

struct artifact {
    char *path; /* UTF-8 without control characters: other bytes are written \xNN */
    uint64_t size;
    enum file_change change;
    enum file_omission omission;        /* FILE_WHOLE: one of content and uri is there */
    const char *mime_type;              /* static; NULL: no byte of it was seen */
    bool active;                        /* a program that shows it may execute it */
    bool not_scanned;                   /* for secrets, which the run had */
    char sha256[SHA256_HEX_LENGTH + 1]; /* of the bytes that are handed over; "": none are */
    bool is_text;                       /* UTF-8 */
    unsigned char *content;             /* inline */
    char *uri;
};

struct artifact_list {
    struct artifact *items;
    size_t count;
    size_t capacity;
    /* Those that are not named, where there is a reason; how many, as far as that is known. */
    uint64_t omitted_count;
    uint64_t omitted_bytes;
    enum file_omission omitted_reason;
};

void artifact_clear(struct artifact *artifact);
void artifact_list_clear(struct artifact_list *list);
/* Takes over the artifact. false: no memory, and it is cleared. */
bool artifact_list_add(struct artifact_list *list, struct artifact *artifact);
/* Adds to those that are not named; the first reason stays. */
void artifact_list_omit(struct artifact_list *list, uint64_t count, uint64_t bytes,
                        enum file_omission reason);
/* There may be more, and nobody knows how many; the first reason stays. */
void artifact_list_lose(struct artifact_list *list, enum file_omission reason);

/* The members "files" and "files_omitted" of a result. */
void artifact_list_write(struct json_draft *draft, const char *name,
                         const struct artifact_list *list);
void artifact_list_write_omitted(struct json_draft *draft, const char *name,
                                 const struct artifact_list *list);
/* The audit's: names and hashes, without content. */
void artifact_list_audit(struct json_draft *draft, const char *name,
                         const struct artifact_list *list);
/* What the host is told of a file that it is to keep: new; NULL when out of memory. */
char *artifact_description(const struct artifact *artifact);

#define MIME_TYPE_BYTES 512 /* of a file's beginning are enough */

struct mime_type {
    const char *name; /* static */
    bool active;      /* may execute scripts where it is shown */
};

/* By the file's first bytes, then by its name's ending; nothing is decoded. Pure code, any thread.
 * bytes: the file's beginning; is_text: all of it is UTF-8 without a NUL. A file is active if its
 * content or its ending is of such a type. */
struct mime_type mime_type_of(const char *path, const unsigned char *bytes, size_t length,
                              bool is_text);
