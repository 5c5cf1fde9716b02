/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a process that was killed is all that there is of a sandbox beside its init, and what it
 * has used, from /proc, until it is reaped. Runs in pid 1 of a sandbox, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "report.h"

/* Has the child of the caller one thread, which is killed, no child, and never waited for one, and
 * has the caller no other child and never waited for one? Then nothing in its pid namespace does
 * anything any more. false too where /proc does not tell (proc_pid_task(5), children). */
bool lone_process_is(pid_t pid);

/* Of its clocks (clock_getcpuclockid(3)), divided as the kernel does for getrusage(2); its memory
 * is the control group's to tell, so 0. false with errno. */
bool lone_process_usage(pid_t pid, struct tree_usage *ret);
