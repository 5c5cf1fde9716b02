/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an interpreter is started with ahead of its run: the files by which it learns to wait, its
 * arguments and its variables. What the scripts of python/ and node/ are told here they replace
 * with the run's own. Lists live as long as the process that executes the interpreter.
 */
#pragma once

#include "backends/process/messages/sandbox_template.h"

/* Where the files are in a view. */
#define INTERPRETER_FILES_VIEW "/run/code-execute"

/* An extension, or a script that loads it. */
struct interpreter_file {
    const char *name; /* static */
    unsigned char *content;
    size_t length;
};

/* Those of a kind of interpreter (enum run_interpreter), ending with a NULL name; NULL with errno
 * where they are not to be had. Read once by the supervisor; they live as long as the process. */
const struct interpreter_file *interpreter_files(uint32_t kind);

/* NULL: no memory. */
char **interpreter_arguments(const struct interpreter_template *interpreter);

/* trusted: where one that is to be copied may import from (interpreter_trust.h), else "". NULL: no
 * memory, or the files are not to be had. */
char **interpreter_environment(const struct interpreter_template *interpreter, const char *trusted);
