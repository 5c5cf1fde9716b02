/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files below a directory that a dead tree has left, found or removed without following any
 * link. Runs in the first process of a sandbox, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "protocol/file_frames.h"

struct found_file {
    char *path; /* relative */
    bool regular;
    struct stat status;
};

struct file_walk {
    struct found_file *files; /* by path, in the order of strcmp() */
    size_t count;
    size_t capacity;
    uint64_t left_out[FILE_OMISSION_COUNT]; /* entries that are not among them, by reason */
};

/* Whether a file is wanted. Directories that begin with a dot are entered where hidden is true. */
struct walk_filter {
    bool (*wants)(const void *user, const char *path);
    const void *user;
    bool hidden;
    uint64_t deadline_us; /* CLOCK_MONOTONIC */
};

/* Entries beyond a fixed number, and whatever is too deep, are only counted. */
void file_walk_below(int directory, const struct walk_filter *filter, struct file_walk *ret);
void file_walk_clear(struct file_walk *walk);

/* Opens a path below a directory without crossing a link or a mount. -1 with errno. */
int file_walk_open(int directory, const char *path, uint64_t flags);

uint64_t file_walk_now_us(void);
