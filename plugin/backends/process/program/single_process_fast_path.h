/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out whether a killed process was the only one of its sandbox beside the init, and what it
 * has used, before it is reaped. Runs in pid 1 of a sandbox, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "backends/process/messages/report.h"

/* A descriptor of the machine's /proc/loadavg, or -1. To be opened before the sandbox's own /proc,
 * which does not show the file, hides the machine's. */
int single_process_fast_path_open(void);

/* Is the caller's child with that pid the last process or thread that was made in the pid namespace
 * of the caller? Then it never had a thread or child, not even one that was reaped without a trace
 * or one of vfork(2), which leaves no page faults. /proc/loadavg tells its reader the last pid of
 * the reader's own namespace (proc_loadavg(5)), and a number below 300 is not given twice
 * (kernel/pid.c, RESERVED_PIDS). loadavg: -1 is false. */
bool single_process_fast_path_applies(int loadavg, pid_t pid);

/* The same where others are in its pid namespace: is the caller's child, which was killed, alone
 * but for the caller and another child of it (spared)? It has no thread, and has waited for no
 * child that shows: one of vfork(2) that had less than a tick of 10 ms does not. An orphan that it
 * has left behind is the caller's child. */
bool single_process_is_left(pid_t pid, pid_t spared);

/* Of its clocks (clock_getcpuclockid(3)), divided as the kernel does for getrusage(2); its memory
 * is for others to tell, so 0. false with errno. */
bool single_process_fast_path_usage(pid_t pid, struct tree_usage *ret);
