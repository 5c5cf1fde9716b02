/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops every process of a sandbox for a while, so that nothing changes a file meanwhile. Runs in
 * the first process of a sandbox, single-threaded. That process has to have the number 1: else "all
 * processes" would be others'. /proc has to be its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* programs: the children of the caller that everything else descends from. true: all are stopped,
 * as far as /proc shows them. false: they did not stop within two seconds, and some may run. In
 * both cases continue_tree() is due. */
bool stop_tree(const pid_t *programs, size_t count);
void continue_tree(void);
