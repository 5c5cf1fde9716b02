/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an interpreter may run outside of a sandbox, as one that is copied does. It may where
 * nobody but root and the gateway's user can decide what it executes or imports: its variables are
 * of a list that is known to be harmless, and every file that it may come to belongs to one of the
 * two and is writable by nobody else, as do the directories that lead there. Runs in a child of the
 * supervisor, before its execve; reads file systems and executes nothing.
 */
#pragma once

#include "backends/process/messages/sandbox_template.h"
#include "protocol/preparation_outcome.h"

/* path: the file that is to be executed. The directories that Python may import from, separated by
 * colons, each without symbolic links; the caller's to free. NULL: it is not to be trusted, for
 * *ret. */
char *interpreter_trust(const struct interpreter_template *interpreter, const char *path,
                        struct preparation_outcome *ret);
