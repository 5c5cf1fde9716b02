/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that runs left and that are too large for a result: kept in memory for a while, under
 * names that cannot be guessed, to be fetched with resources/read. Any thread.
 */
#pragma once

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define ARTIFACTS_BYTES   (64u << 20) /* of all; the oldest go first */
#define ARTIFACTS_KEPT_MS 900000

struct artifacts {
    pthread_mutex_t lock;          /* of the following */
    struct artifact *first, *last; /* the oldest first */
    size_t bytes;
};

void artifacts_init(struct artifacts *artifacts);
/* Keeps the content (text, or Base64 where is_text is false) of a file of that path within its run
 * directory. The new URI, a JSON text; NULL: too large, or out of memory. */
json_t *artifacts_keep(struct artifacts *artifacts, const char *path, const char *mime_type,
                       const json_t *content, bool is_text);
/* The "contents" of resources/read, new; NULL where there is none of that URI (any more). */
json_t *artifacts_read(struct artifacts *artifacts, const char *uri);
void artifacts_clear(struct artifacts *artifacts);
