/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every backend program does first: becomes a process that depends on nothing the host may do,
 * is nobody's lasting child, and knows its host by a pidfd. Single-threaded, at the start of
 * main().
 */
#pragma once

/* With BACKEND_CONTROL_FD as the only descriptor beyond standard error. Returns in the process that
 * serves, with a pidfd of the host (the caller's to close); -1 where the host has ended or the
 * process could not be settled. */
int backend_enter(void);

/* What a host may have before others (systemd.exec(5): CPUSchedulingPolicy=, Nice=,
 * IOSchedulingClass=, OOMScoreAdjust=) is handed down to every process it starts. A program is to
 * have none of it: it would run before the machine's own processes, and be killed after them where
 * memory is short. Of the calling process, which starts the others; as /proc is the machine's,
 * before the process becomes undumpable. 0, or -1 with errno where it keeps some of it. */
int drop_scheduling_privileges(void);
