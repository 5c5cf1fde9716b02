/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checkpoints of a session as its init keeps them (messages/checkpoint_protocol.h). They have
 * the program's uid, so a later cell may kill one, or claim to be one. Such a claim comes too late:
 * at most one is kept for a cell, and the interpreter makes it before the cell begins. Runs in the
 * init of a sandbox, single-threaded.
 */
#pragma once

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol/checkpoint.h"

struct checkpoint {
    pid_t pid;
    int pidfd;     /* of one that is kept: its number may be another's by now */
    uint64_t call; /* the one that it sleeps in; 0: none */
};

struct checkpoints {
    int listener;      /* of the program's filter; the owner's */
    pid_t interpreter; /* the owner sets it first */
    size_t limit;
    struct checkpoint kept[CHECKPOINTS_MOST + 1]; /* the oldest first */
    size_t count;
    pid_t waking; /* the one that was told to go on, until it says so; 0: none */
    bool in_cell;
    bool may_come;          /* the cell under way has not had its checkpoint yet */
    bool is_of_last;        /* the newest one was made ahead of the last cell */
    struct checkpoint next; /* sleeps, and the interpreter has not named it; pid 0: none */
    struct checkpoint made; /* the interpreter's call, and the pid that it names; call 0: none */
};

/* A cell begins, with that many checkpoints at most; it ends. */
void checkpoints_begin_cell(struct checkpoints *checkpoints, size_t limit);
void checkpoints_end_cell(struct checkpoints *checkpoints);

/* Ends all of them: nothing leads back any more. */
void checkpoints_forget(struct checkpoints *checkpoints);

/* Takes a call that the listener has told of. false: it is none of a checkpoint's. */
bool checkpoints_take_call(struct checkpoints *checkpoints, const struct seccomp_notif *call);

/* Is there one from ahead of the last cells, as many as that? The last one may be under way. */
bool checkpoints_can_restore(const struct checkpoints *checkpoints, size_t cells);

/* Kills every process of the sandbox but the checkpoints of before these cells, and wakes the
 * newest of those, which is the interpreter from now on. false: it was killed before, or is not to
 * be woken, and the sandbox has no interpreter any more. */
bool checkpoints_restore(struct checkpoints *checkpoints, size_t cells);
