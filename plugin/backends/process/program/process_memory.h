/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc tells of the memory of one process, for a sum over a tree whose limit no control group
 * holds. Pages of files are the machine's and in no number here. Runs in inits, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* With its page tables, and what is swapped out. A page that several have counts for each of them:
 * it costs little to ask, and a sum is never too low. false: it has ended. */
bool process_memory_whole(pid_t pid, uint64_t *ret_bytes);
/* The same with its part of the pages that several have; costs up to some milliseconds. false: it
 * has ended, or may not be asked. */
bool process_memory_part(pid_t pid, uint64_t *ret_bytes);
/* Do the two have one memory, as after vfork(2)? Its number would count twice. */
bool process_memory_is_common(pid_t pid, pid_t other);
