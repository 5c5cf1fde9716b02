/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a provider may open during one call (tool_host.open_file): those of --file, and
 * those that the input names by "ref": beneath --files-below, or left by an earlier run. A file is
 * opened when the call begins, so what is lent is what was listed, whatever happens to its name.
 * Owned by the call: on its thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/failure.h"
#include "files/artifact_store.h"

#define LENT_FILES      128u                /* a call */
#define LENT_FILE_BYTES (UINT64_C(1) << 30) /* each is read once, for its hash */

struct lent_file {
    char *ref;  /* owned */
    char *name; /* owned: for people */
    int fd;     /* owned */
    uint64_t size;
    char sha256[SHA256_HEX + 1];
};

struct lent_files {
    struct lent_file files[LENT_FILES];
    size_t count;
};

/* Adds an open file under a new name that cannot be guessed; fd is taken over in any case. The ref
 * is the list's; NULL fills the failure. */
const char *lent_files_add(struct lent_files *files, const char *name, int fd, uint64_t size,
                           struct failure *failure);

/* Where a "ref" of an input is looked up. */
struct file_sources {
    const char *directory;                  /* of paths beneath it; NULL: none */
    const struct artifact_store *artifacts; /* of URIs */
};

/* The call's context_json with "files", new; NULL when out of memory. The list has the files that
 * were added, and those that the input's "files" name by "ref". A ref that is nowhere is left out:
 * the provider says so. */
char *lent_files_context(struct lent_files *files, const struct file_sources *sources,
                         const char *input_json, const char *context_json);

/* A new descriptor, or -1 where no file has that ref. */
int lent_files_open(const struct lent_files *files, const char *ref, uint64_t *ret_size);

void lent_files_clear(struct lent_files *files);
