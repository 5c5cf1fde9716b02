/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes whose subreaper has died: a program of an unconfined run may kill it, and its children
 * then become the supervisor's, which is a subreaper, too. Also how a subreaper itself kills its
 * children. Runs in single-threaded processes of the backend.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Stops, then kills every child of this process but the spared, and everything below them. Stopping
 * all first keeps a fork bomb from growing faster than it is killed. Does not wait. true: there was
 * none. */
bool orphans_kill(bool (*is_spared)(pid_t pid, void *user), void *user);
