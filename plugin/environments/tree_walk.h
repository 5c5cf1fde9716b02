/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries below a directory of packages, each once, in an order that depends on their names
 * alone. Follows no link, crosses no mount, and takes nothing but files, directories and symbolic
 * links of one owner. Runs in the gateway and in code-execute-environment; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

#define TREE_PATH_LIMIT  4095 /* bytes, of a path below the top and of a link's target */
#define TREE_DEPTH_LIMIT 64   /* parts of a path */

/* The most that a tree may have below its top. */
struct tree_limits {
    uint64_t bytes; /* of all files */
    uint64_t inodes;
};

struct tree_totals {
    uint64_t bytes;
    uint64_t files;
    uint64_t inodes; /* files, directories and links */
};

struct tree_entry {
    const char *path; /* below the top; "" is the top itself */
    const char *name; /* of the entry in its directory */
    int directory;    /* borrowed, as is all of this */
    const struct stat *status;
};

/* false with an error: the walk ends, and fails with it. */
typedef bool tree_visitor(void *user, const struct tree_entry *entry, struct error *error);

/* {.limits, .visit, .user} is a new one. */
struct tree_walk {
    const struct tree_limits *limits;
    tree_visitor *visit; /* the top first; a directory directly ahead of what is in it */
    void *user;
    struct tree_totals totals;      /* so far */
    char path[TREE_PATH_LIMIT + 1]; /* of the entry that it is at; also behind a failure */
    size_t length;
    unsigned depth;
    dev_t device;
    uid_t owner;
};

/* Visits the directory, which stays the caller's and may be open with O_PATH, and all that is below
 * it. Names of one directory come in the order of their bytes. The error's code is OUT_OF_MEMORY or
 * INTERNAL, and its message a sentence about the entry at walk->path, without that path. */
bool tree_walk_run(int top, struct tree_walk *walk, struct error *error);

/* UTF-8 without control characters (C0, DEL, C1). */
bool tree_text_is_plain(const char *text);
