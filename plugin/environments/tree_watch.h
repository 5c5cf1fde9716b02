/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has anything below a directory changed since the watch began? The kernel tells (inotify(7)), so
 * that asking costs two system calls, whatever lies below. What somebody writes through memory it
 * tells of once that is unmapped; a stamp (tree_stamp.h) shows it before. Runs in the gateway; any
 * thread, one watch at a time.
 */
#pragma once

#include <stdbool.h>

#include "environments/tree_walk.h"

struct tree_watch {
    int fd; /* CLOEXEC, and one a watch; -1: there is none */
    dev_t device;
    ino_t inode; /* of the directory */
};

#define TREE_WATCH_NONE \
    {                   \
        .fd = -1        \
    }

/* Begins one of the directory, which stays the caller's and is read through /proc, and of all that
 * is below it. false: the kernel has none to give, or something has changed meanwhile. */
bool tree_watch_begin(int directory, const struct tree_limits *limits, struct tree_watch *ret);
/* Is that directory the one, and nothing has changed? After a false one the watch says no more. */
bool tree_watch_is_quiet(const struct tree_watch *watch, int directory);
void tree_watch_end(struct tree_watch *watch);
