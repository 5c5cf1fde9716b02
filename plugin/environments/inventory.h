/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inventory of a tree of packages: a line for each entry, with the hash of each file. Its own
 * hash is the digest of the environment. Lines, each ended by '\n', in the order of the walk:
 *     d PATH                      a directory (mode 0555)
 *     f SIZE SHA256 PATH          a file (0444)
 *     x SIZE SHA256 PATH          an executable file (0555)
 *     l LENGTH TARGET PATH        a symbolic link to TARGET, which has LENGTH bytes
 * The order is that of paths, part by part and byte by byte, so a directory is directly ahead of
 * what is in it. Owners and times are not in it. Runs in code-execute-environment; the lines are
 * made in the docker backend as well.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/sha256.h"
#include "environments/tree_walk.h"

struct inventory {
    char *text; /* owned */
    size_t length;
    char sha256[SHA256_TEXT_LENGTH + 1]; /* of the text */
    struct tree_totals totals;
    char place[TREE_PATH_LIMIT + 1]; /* of the entry that it failed at */
};

/* Reads every file below the directory. Other modes than those above are refused, and links that
 * lead out of the directory by their text. On failure only place is set; the error's code is
 * OUT_OF_MEMORY or INTERNAL, and its message a sentence about that entry. */
bool inventory_make(int directory, const struct tree_limits *limits, struct inventory *inventory,
                    struct error *error);
void inventory_clear(struct inventory *inventory);

/* An entry as its line has it. */
struct inventory_entry {
    mode_t mode; /* with its type; a file that anybody may execute is an executable one */
    const char *path;
    uint64_t size;      /* of a file */
    const char *sha256; /* of a file's content */
    const char *target; /* of a link */
};

/* Hands the entry's line over, in pieces; nothing for the top, whose path is empty. */
void inventory_write_line(const struct inventory_entry *entry,
                          void (*add)(void *user, const char *bytes, size_t length), void *user);

/* Does a link at that path stay below the top, as far as the two texts say? */
bool inventory_link_stays(const char *path, const char *target);

enum inventory_change { INVENTORY_SAME, INVENTORY_CHANGED, INVENTORY_ADDED, INVENTORY_REMOVED };

/* What is the first difference between a text that may be anything and one of inventory_make(), and
 * at which path? *ret_path is borrowed from either; NULL: the recorded text is no inventory. */
enum inventory_change inventory_compare(const char *recorded, size_t recorded_length,
                                        const char *made, size_t made_length, const char **ret_path,
                                        size_t *ret_path_length);
