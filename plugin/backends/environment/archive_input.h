/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stranger's tar archive, entry by entry: plain tar alone (ustar, pax, GNU), with names and types
 * that are checked, and nothing behind its end. One thread, confined; libarchive reads the bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "environments/tree_walk.h"

enum item_kind { ITEM_FILE, ITEM_DIRECTORY, ITEM_LINK, ITEM_HARD_LINK };

struct archive_item {
    char path[TREE_PATH_LIMIT + 1]; /* "" is the top directory; of an item that was refused, any
                                       bytes */
    enum item_kind kind;
    char target[TREE_PATH_LIMIT + 1]; /* of a link: its text; of a hard link: a path like path */
    uint64_t size;                    /* of a file */
    bool is_executable;
    int64_t time; /* seconds since 1970, 0 to 2^32-1 */
};

struct archive_input;

/* Begins to read a regular file at its start; the descriptor stays the caller's. NULL with error;
 * else archive_input_close(). */
struct archive_input *archive_input_open(int fd, struct error *error);
void archive_input_close(struct archive_input *input);

enum archive_step { ARCHIVE_STEP_ITEM, ARCHIVE_STEP_END, ARCHIVE_STEP_FAILED };
/* The next entry. Also of one that is refused the path is set, where it has one. */
enum archive_step archive_input_next(struct archive_input *input, struct archive_item *item,
                                     struct error *error);

/* The next bytes of a file's content, borrowed until the next call; 0: its end. -1 with error:
 * there are more or fewer than the item says, or holes between them. */
int64_t archive_input_read(struct archive_input *input, const struct archive_item *item,
                           const void **ret_bytes, struct error *error);
