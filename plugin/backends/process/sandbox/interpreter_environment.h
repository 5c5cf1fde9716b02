/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variables that an interpreter is started with ahead of its run; the scripts of interpreter/
 * put the run's own in their place. Pure, any process.
 */
#pragma once

#include "backends/process/messages/sandbox_template.h"

/* files: the directory of interpreter_files.h; what: "copy", "wait" or "trial"; trusted: where one
 * that is to be copied may import from (interpreter_trust.h), else "". A new list whose strings
 * live as long as the process; NULL: no memory. */
char **interpreter_environment(const struct interpreter_template *interpreter, const char *home,
                               const char *files, const char *what, const char *trusted);
