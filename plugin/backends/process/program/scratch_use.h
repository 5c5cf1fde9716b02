/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run has written into its directory, where no file system of its own has a limit: its
 * files, and those that are deleted but still open. One that is deleted, closed and still mapped is
 * not seen here; on a memory file system it counts as memory. What processes have open shows their
 * sockets as well. Runs in inits, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define INODES_TOLD_APART 256

/* Those that were counted; one that finds no room here is counted each time that it is met. */
struct counted_inodes {
    uint64_t numbers[INODES_TOLD_APART];
    size_t count;
};

struct scratch_use {
    uint64_t bytes;
    uint64_t inodes;
    uint64_t sockets;
    bool is_beyond_count; /* something of it cannot be counted: too much, whatever the numbers */
    uint64_t mount;
    struct counted_inodes deleted;
    struct counted_inodes counted_sockets;
};

/* Stops behind the first inode beyond that number; 0: it does not. A directory that its modes close
 * to its own user is opened up while it is counted. */
void scratch_use_count(const char *directory, uint64_t most_inodes, struct scratch_use *ret);
/* Adds the deleted files and the sockets that the process has open. What a process hides of them
 * cannot be counted. */
void scratch_use_add_open(struct scratch_use *use, pid_t pid);
