/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that programs have left and that toolhost keeps for a while: in a directory of mode
 * 0700, each under a random ID with an entry beside it (ID.json), so that its URI cannot be
 * guessed. A size and an age bound what is kept; both are enforced at every new file. Many threads
 * and processes at once.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"

#define ARTIFACT_MAX_BYTES_DEFAULT (UINT64_C(1) << 30)
#define ARTIFACT_KEPT_MS_DEFAULT   UINT64_C(86400000)

struct artifact_store {
    char *path;         /* owned; NULL: nothing says where */
    uint64_t max_bytes; /* of all files; the oldest go first */
    uint64_t kept_ms;   /* of a new file */
};

/* directory NULL: toolhost's own. Nothing is made or read yet. Main thread, for the environment.
 * false: out of memory. */
bool artifact_store_init(struct artifact_store *ret, const char *directory, uint64_t max_bytes,
                         uint64_t kept_ms, struct failure *failure);
void artifact_store_clear(struct artifact_store *store);

/* Keeps a copy of a regular file or memfd. file is like an entry of a result's "files": "path",
 * "mime_type", and "sha256" and "active" where they are known; another SHA-256 is refused. Its
 * entry is new: "uri", "path", "mime_type", "size", "sha256", "active", "number" (files that are
 * kept later have larger ones), "created" and "expires" (seconds). NULL fills the failure. */
json_t *artifact_store_keep(const struct artifact_store *store, const json_t *file, int fd,
                            struct failure *failure);

/* The entry of a URI or an ID, new, and where fd is not NULL the content, for reading. NULL fills
 * the failure (code "unknown_file"): there is none of that name (any more). */
json_t *artifact_store_find(const struct artifact_store *store, const char *name, int *ret_fd,
                            struct failure *failure);

/* All entries, the oldest first; new. NULL fills the failure. */
json_t *artifact_store_list(const struct artifact_store *store, struct failure *failure);
