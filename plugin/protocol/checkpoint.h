/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints of a session: ahead of a cell its interpreter makes a copy of itself, which sleeps
 * with a copy of the session's files until the cell is undone. The vocabulary of both sides. Pure
 * code, any thread.
 */
#pragma once

#include <stdbool.h>

#define CHECKPOINTS_MOST 8 /* of one session */

/* X(constant, name) - whether there is one ahead of a cell, or why not. */
#define CHECKPOINT_WORDS(X)                                                                 \
    X(TAKEN, "taken")                                                                       \
    X(THREADS, "threads")             /* which a copy would not have */                     \
    X(PROCESSES, "processes")         /* beside the interpreter: children, or theirs */     \
    X(DESCRIPTORS, "descriptors")     /* open files, sockets, event loops: both have one */ \
    X(SHARED_MEMORY, "shared_memory") /* a mapping that a copy would share */               \
    X(FILES, "files")                 /* more than is copied, or none that can be copied */ \
    X(SECRETS, "secrets")             /* the session has some */                            \
    X(MEMORY, "memory")               /* there was none for the copy */                     \
    X(REFUSED, "refused")             /* the sandbox could not keep it */                   \
    X(EXPOSED, "exposed")             /* taken, but no safer than the cell from the kernel */

enum checkpoint_word {
#define X(constant, name) CHECKPOINT_##constant,
    CHECKPOINT_WORDS(X)
#undef X
        CHECKPOINT_WORD_COUNT
};

/* Is there one? */
bool checkpoint_word_is_taken(enum checkpoint_word word);
/* word < CHECKPOINT_WORD_COUNT */
const char *checkpoint_word_name(enum checkpoint_word word);
/* CHECKPOINT_WORD_COUNT where it is none. */
enum checkpoint_word checkpoint_word_named(const char *name);
