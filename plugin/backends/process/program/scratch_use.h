/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run has written into its directory, where no file system of its own has a limit: its
 * files, and those that are deleted but still open. One that is deleted, closed and still mapped is
 * not seen here; on a memory file system it counts as memory. Runs in inits, single-threaded.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SCRATCH_USE_DELETED 256 /* files that are told apart */

struct scratch_use {
    uint64_t bytes;
    uint64_t inodes;
    dev_t device;
    ino_t deleted[SCRATCH_USE_DELETED]; /* those that were counted */
    size_t deleted_count;
};

/* Stops behind the first inode beyond that number; 0: it does not. A directory that its modes close
 * to its own user is opened up. */
void scratch_use_count(const char *directory, uint64_t most_inodes, struct scratch_use *ret);
/* Adds the deleted files that the process has open. */
void scratch_use_add_open(struct scratch_use *use, pid_t pid);
