/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checkpoints of a session (protocol/checkpoint.h) in a container. Ahead of a cell the
 * interpreter is asked for a copy of itself, over a socket of its own, and has no end of that any
 * more when the cell begins. The copy sleeps where it waits for the guest's word, cannot be traced
 * by the program, and the kernel says which process it is. The guest has a copy of the session's
 * files itself. Runs in the guest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "guest/files/file_snapshot.h"
#include "protocol/checkpoint.h"

struct guest_checkpoint {
    pid_t pid;
    int pidfd;  /* its number may be another's by now */
    int socket; /* it waits at the other end */
    struct file_snapshot files;
};

struct guest_checkpoints {
    struct guest_checkpoint kept[CHECKPOINTS_MOST + 1]; /* the oldest first */
    size_t count;
    bool is_of_last; /* the newest one was made ahead of the last cell */
};

#define GUEST_ASKS_FOR_CHECKPOINT 'k' /* to the interpreter, with one end of a socket */

/* Ahead of a cell, none of whose files is there yet. cells: the socket to the interpreter. Waits
 * for it a few seconds. limit 0: none is wanted, CHECKPOINT_WORD_COUNT. */
enum checkpoint_word guest_checkpoints_make(struct guest_checkpoints *checkpoints, int cells,
                                            pid_t interpreter, size_t limit);

/* Is there one from ahead of the last cells, as many as that? The last one may be under way. */
bool guest_checkpoints_lead_back(const struct guest_checkpoints *checkpoints, size_t cells);

/* Ends all of them: nothing can be undone any more. */
void guest_checkpoints_forget(struct guest_checkpoints *checkpoints);

/* Kills every process but the checkpoints of before these cells, puts the files back, and wakes the
 * newest of those, which is the interpreter from now on. 0: it was killed before. */
pid_t guest_checkpoints_restore(struct guest_checkpoints *checkpoints, size_t cells);
