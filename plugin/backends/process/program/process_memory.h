/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc tells of the memory of one process, for a sum over a tree whose limit no control group
 * holds. Pages of files are the machine's and in no number here. Runs in inits, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What a process had when it was copied from an interpreter, so that it is no program's doing. */
struct inheritance {
    uint64_t memory_bytes;   /* in common with the original */
    uint64_t resident_bytes; /* with pages of files */
    uint64_t data_bytes;     /* of its address space, as RLIMIT_DATA counts */
};

/* Where some pages are those of several processes. */
struct memory_part {
    uint64_t bytes;     /* with a part of those, so that a sum over all who have them is right */
    uint64_t own_bytes; /* without those */
};

/* Of the calling process, a copy in which nothing has happened yet. false with errno. */
bool process_memory_inherited(struct inheritance *ret);
/* With its page tables, and what is swapped out. A page that several have counts for each of them:
 * it costs little to ask, and a sum is never too low. false: it has ended. */
bool process_memory_whole(pid_t pid, uint64_t *ret_bytes);
/* The most that it has had at once (getrusage(2)), also while it is held. false: it has ended. */
bool process_memory_peak(pid_t pid, uint64_t *ret_bytes);
/* Costs up to some milliseconds. What it alone has may be told too high by what it has inherited,
 * and never too low. false: it has ended, or may not be asked. */
bool process_memory_part(pid_t pid, const struct inheritance *inheritance, struct memory_part *ret);
/* Do the two have one memory, as after vfork(2)? Its number would count twice. */
bool process_memory_is_common(pid_t pid, pid_t other);
