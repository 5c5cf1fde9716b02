/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file by reference on its way into a sandbox: read from the plugin's descriptor in pieces and
 * hashed meanwhile, so that no other content than described is taken for it. Runs in supervisors,
 * inits and subreapers, single-threaded.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sha256.h"
#include "protocol/run_description.h"

#define INPUT_FILE_CHUNK 65536 /* bytes that a reader does well to have room for */

struct input_file {
    const struct run_file *file; /* borrowed */
    int fd;
    uint64_t done; /* bytes */
    struct sha256 hash;
};

/* The next descriptor that the plugin has sent over RUN_FD_INPUTS, for that file: *ret owns it. 0,
 * or -1 with errno. */
int input_file_open(int inputs, const struct run_file *file, struct input_file *ret);

/* Its next bytes. 0: it is at its end, and is the described one; -1: it is not, with errno of a
 * read that failed, else 0. What was read before is not to be used then. */
ssize_t input_file_read(struct input_file *input, void *bytes, size_t capacity);

void input_file_close(struct input_file *input);
