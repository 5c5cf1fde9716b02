/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filters of process mode, made once from the rules that the program carries
 * (seccomp_rules.h). Two are stacked on each run (seccomp(2): the strictest verdict counts): the
 * list says which calls exist, the guard takes away by argument. libseccomp cannot say "this call,
 * but not with that argument" in a filter that refuses by default.
 *
 * A call of the list's "kill" groups is held by the kernel and told to pid 1 of the sandbox
 * (main_program.c), which ends the run and can name the call. It is never let through: without a
 * listener the kernel answers ENOSYS (seccomp_unotify(2)).
 */
#pragma once

#include "backends/process/messages/seccomp_program.h"

/* Makes the filters. 0; or -1 with errno, and *ret is empty: every sandboxed run is then refused.
 * Runs in the supervisor at its start. The programs live as long as the process. */
int seccomp_filters_make(struct seccomp_filters *ret);
