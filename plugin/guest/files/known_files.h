/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that the last collection of a session has told of, so that the next one tells of what
 * has changed since. A file counts as unchanged while its path, inode, size and time of change
 * (ctime, which no program sets) are the same. What is written through a mapping of a memory file
 * system changes none of these, and is not seen. Runs in the first process of a sandbox,
 * single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct known_file {
    uint64_t path; /* its hash */
    ino_t inode;
    off_t size;
    struct timespec changed;
    bool rare; /* only patterns find it */
};

struct known_files {
    struct known_file *files; /* by path, once sorted */
    size_t count;
    size_t capacity;
};

enum known_state { KNOWN_NOT, KNOWN_CHANGED, KNOWN_UNCHANGED };

/* Of sorted ones. */
enum known_state known_files_find(const struct known_files *known, const char *path,
                                  const struct stat *status);
/* Without memory the file is not known, and is told of once more. */
void known_files_add(struct known_files *known, const char *path, const struct stat *status,
                     bool rare);
/* Of the older ones, adds those that a search may not have met: all of them, or the rare ones. Both
 * are sorted. Beyond a fixed number they are forgotten. */
void known_files_inherit(struct known_files *known, const struct known_files *older, bool all);
void known_files_sort(struct known_files *known);
/* Waits until a change of a file would have another time than the last one that is known: the
 * kernel's time of change moves on by ticks. */
void known_files_await_tick(const struct known_files *known);
void known_files_clear(struct known_files *known);
