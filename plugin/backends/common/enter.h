/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every backend program does first: becomes a process that depends on nothing the host may do,
 * is nobody's lasting child, and knows its host by a pidfd. Single-threaded, at the start of
 * main().
 */
#pragma once

/* Leaves BACKEND_CONTROL_FD as the only descriptor beyond standard error. Returns in the process
 * that serves, with a pidfd of the host (the caller's to close); -1 where the host has ended or the
 * process could not be settled. */
int backend_enter(void);
