/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints, as a session's interpreter makes them of itself (protocol/checkpoint.h). Runs in the
 * interpreter, in its main thread, between two cells.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "protocol/checkpoint.h"
#include "protocol/session.h"

struct checkpoint_maker {
    int descriptors;      /* that an interpreter of no program's has open; -1: not known */
    bool is_seen_by_init; /* what this process cannot see of itself: it has no /proc */
    /* That were made, of all branches; some may be dead by now. */
    pid_t children[CHECKPOINTS_MOST + 1 + SESSION_BRANCHES_MOST];
    size_t child_count;
    /* What the interpreter does while its copy gets ready, until that descriptor is readable; NULL:
     * it waits. */
    void (*while_copied)(int until);
};

enum cell_wish {
    CELL_ALONE,
    CELL_WITH_CHECKPOINT, /* ahead of it */
    CELL_PARK,            /* it is none, and was taken */
};
/* Waits for the next cell on that socket, and leaves it there. */
enum cell_wish cell_await(int cells);

/* Ahead of the first cell. */
void checkpoint_prepare(struct checkpoint_maker *maker);

/* Makes one. It returns in the interpreter with *ret_restored false; and once more in the
 * checkpoint, when that has been woken and is the interpreter, with the files put back and
 * *ret_restored true. A checkpoint that cannot put them back does not return. */
enum checkpoint_word checkpoint_make(struct checkpoint_maker *maker, bool *ret_restored);
