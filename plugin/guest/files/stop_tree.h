/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops every process of a sandbox for a while, so that nothing changes a file meanwhile. Runs in
 * the first process of a sandbox, single-threaded. That process has the number 1 and a /proc of its
 * own; or its signals reach no others than its descendants (program/whole_tree.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* programs: the children of the caller that everything else descends from. spared: another child,
 * which is to stay awake, of a caller that has not the number 1; 0: the caller has that. true: all
 * are stopped, as far as /proc shows them. false: they did not stop within two seconds, and some
 * may run. In both cases continue_tree() is due. */
bool stop_tree(const pid_t *programs, size_t count, pid_t spared);
void continue_tree(void);
/* The same without a look: sends the signal alone. */
void stop_all_but(pid_t spared);
