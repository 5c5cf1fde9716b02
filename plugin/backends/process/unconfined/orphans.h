/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that have lost their keeper: a program of an unconfined run may kill it, and what it
 * kept then becomes a child of the nearest subreaper, the supervisor. Also how a keeper itself
 * kills what it keeps. Single-threaded processes of the backend.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Stops, then kills every child of this process but the spared, and everything below them. Stopping
 * all first keeps a fork bomb from growing faster than it is killed. Does not wait. true: there was
 * none. */
bool orphans_kill(bool (*is_spared)(pid_t pid, void *user), void *user);
