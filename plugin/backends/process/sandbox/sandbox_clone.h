/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clone of a first process, and what its child does first. Runs in the supervisor and in
 * interpreters that are copied, all of them single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "backends/process/messages/sandbox_template.h"

/* Like fork(), with namespaces (CLONE_*); no handler of the C library is needed in one thread.
 * pidfd: NULL or where to put one. */
pid_t clone_process(unsigned long flags, int *pidfd);

/* The same for pid 1 of a sandbox, whose id maps another process must be able to write. */
pid_t clone_sandbox(unsigned long flags, int *pidfd);

/* The namespaces that a sandbox of that template has of its own. */
unsigned long sandbox_namespace_flags(const struct sandbox_template *template);

#define CHILD_REPORT_FD 3

/* In the child: 3 becomes the report, and all higher descriptors are closed. */
void arrange_report(int report);
