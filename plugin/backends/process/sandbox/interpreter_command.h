/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an interpreter is started with ahead of its run: the files that make it wait, its arguments
 * and its variables. The scripts of python/ and node/ replace these variables with the run's own.
 * Lists live as long as the process that executes the interpreter.
 */
#pragma once

#include "backends/process/messages/sandbox_template.h"

/* Where the files are in a view. */
#define INTERPRETER_FILES_VIEW "/run/code-execute"

/* The one that a shell's session has: its main program. */
#define SHELL_PROGRAM "code-execute-shell"

/* The command that calls tools, whose directory then is in a program's PATH. */
#define TOOL_COMMAND "tool"

/* The directory of the commands that would install packages, and of Python's module pip; beside the
 * files. */
#define INSTALLERS "installers"

/* An extension, a script that loads it, or a program. */
struct interpreter_file {
    const char *name; /* static */
    const char *link; /* it is a symbolic link to that name; NULL: it has a content */
    bool executable;
    unsigned char *content;
    size_t length;
};

/* Where the files are on the host, beside the backend's program; NULL where that cannot be told. An
 * interpreter, which is another program, is told by a message and passes it on. */
const char *interpreter_files_directory(void);
void interpreter_files_are_in(const char *directory);

/* The files of a kind of interpreter (enum run_interpreter, also of a runner), ending with a NULL
 * name; NULL with errno where they are missing. Read once by the supervisor; they live as long as
 * the process. */
const struct interpreter_file *interpreter_files(uint32_t kind);
/* The same of the command that calls tools: one file. */
const struct interpreter_file *interpreter_tool_command(void);
/* The same of INSTALLERS, which the names begin with. */
const struct interpreter_file *interpreter_installers(void);

/* What an interpreter finds its files and its program by. */
struct interpreter_place {
    const char *files; /* NULL: they are missing */
    const char *home;  /* of the run */
};

/* The home of a copy on a machine without file views, as its original knows it: the kernel puts the
 * copy's own in its place. */
#define COPY_HOME "/proc/self/cwd"

/* NULL: no memory. */
char **interpreter_arguments(const struct interpreter_template *interpreter,
                             const struct interpreter_place *place);

/* trusted: the directories that an interpreter that is copied may import from
 * (trusted_path.h), else "". NULL: no memory, or the files are missing. */
char **interpreter_environment(const struct interpreter_template *interpreter,
                               const struct interpreter_place *place, const char *trusted);
