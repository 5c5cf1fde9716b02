/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checkpoints of a session (protocol/checkpoint.h) in a container. Ahead of a cell the
 * interpreter is asked for a copy of itself, over a socket of its own, and has no end of that any
 * more when the cell begins. The copy sleeps where it waits for the guest's word, cannot be traced
 * by the program, and the kernel says which process it is. The guest has a copy of the session's
 * files itself. The branches of a session whose interpreters sleep are kept in the same way
 * (protocol/session.h). Runs in the guest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "guest/files/file_snapshot.h"
#include "protocol/checkpoint.h"
#include "protocol/session.h"

struct guest_checkpoint {
    pid_t pid;  /* 0: there is none */
    int pidfd;  /* its number may be another's by now */
    int socket; /* it waits at the other end */
    struct file_snapshot files;
};

/* What leads back from the interpreter of one branch. */
struct guest_checkpoint_list {
    struct guest_checkpoint kept[CHECKPOINTS_MOST + 1]; /* the oldest first */
    size_t count;
    bool is_of_last; /* the newest one was made ahead of the last cell */
};

/* A branch whose interpreter sleeps. */
struct guest_branch {
    struct guest_checkpoint tip;
    struct guest_checkpoint_list list;
};

struct guest_checkpoints {
    struct guest_checkpoint_list list; /* of the interpreter */
    struct guest_branch asleep[SESSION_BRANCHES_MOST];
    bool is_new_branch; /* the interpreter is, and has not been told yet */
};

/* To the interpreter. */
#define GUEST_ASKS_FOR_CHECKPOINT 'k' /* with one end of a socket */
#define GUEST_BEGINS_BRANCH       'b' /* alone: it is that of a new branch from now on */

/* Ahead of a cell, none of whose files is there yet. cells: the socket to the interpreter. Waits
 * for it a few seconds. limit 0: none is wanted, CHECKPOINT_WORD_COUNT. */
enum checkpoint_word guest_checkpoints_make(struct guest_checkpoints *checkpoints, int cells,
                                            pid_t interpreter, size_t limit);

/* Is there one from ahead of the last cells, as many as that? The last one may be under way. */
bool guest_checkpoints_lead_back(const struct guest_checkpoints *checkpoints, size_t cells);

/* Between two cells: a copy of the interpreter sleeps as that branch, with the checkpoints so far.
 * What goes on is a new branch, which has none. CHECKPOINT_TAKEN, or why all is as it was. */
enum checkpoint_word guest_checkpoints_park(struct guest_checkpoints *checkpoints, int cells,
                                            pid_t interpreter, size_t branch);

/* Ends all of them, and the other branches: nothing leads back any more. */
void guest_checkpoints_forget(struct guest_checkpoints *checkpoints);

/* Kills every process but the checkpoints of before these cells and the other branches, puts the
 * files back, and wakes the newest of those, which is the interpreter from now on. 0: it was killed
 * before. */
pid_t guest_checkpoints_restore(struct guest_checkpoints *checkpoints, size_t cells);

/* Is there such a branch, and does its interpreter live? */
bool guest_checkpoints_can_wake(const struct guest_checkpoints *checkpoints, size_t branch);
/* The same for a branch: what runs ends, with what leads back from it. */
pid_t guest_checkpoints_wake(struct guest_checkpoints *checkpoints, size_t branch);

/* Ends that branch, or with SESSION_BRANCH_AWAKE the interpreter and all that is no checkpoint,
 * where another branch sleeps. true: there is no interpreter until one is woken. */
bool guest_checkpoints_drop(struct guest_checkpoints *checkpoints, size_t branch);
