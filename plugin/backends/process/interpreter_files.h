/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files by which an interpreter learns to wait for a run: an extension and the script that
 * loads it, beside the backend's program. Read once by the supervisor; what is started in a sandbox
 * finds them in its view.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where they are in a view. */
#define INTERPRETER_FILES_VIEW "/run/code-execute"

/* What an interpreter that is started in a sandbox has open beside 0-2. */
enum interpreter_fd {
    INTERPRETER_FD_SUPERVISOR = 3,
    INTERPRETER_FD_REPORT,
    INTERPRETER_FD_LISTENER,
    INTERPRETER_FD_ISOLATION, /* a pipe with the struct isolation_report of what is applied */
    INTERPRETER_FD_PIPE,      /* the other end of its 1 and 2, so that writing does not fail */
};

/* What one that is to be copied has. */
enum parent_fd {
    PARENT_FD_SUPERVISOR = 3,
    PARENT_FD_BLUEPRINT,
    PARENT_FD_PIPE, /* the other end of its 1 and 2, so that writing does not fail */
};

/* One byte from one that is to be copied, once. */
#define PARENT_READY   'r'
#define PARENT_USELESS 'u'

/* One byte to it with the report's descriptor: a copy is wanted. This is the answer, with a pidfd
 * where there is one. */
#define PARENT_COPY 'c'
struct parent_copy {
    int32_t pid; /* in the supervisor's pid namespace; -1 */
    int32_t error_number;
};

/* The directory, NULL where it cannot be told. */
const char *interpreter_files_directory(void);

struct interpreter_file {
    const char *name; /* static */
    unsigned char *content;
    size_t length;
};

/* Those of a kind of interpreter (enum run_interpreter), ending with a NULL name; NULL with errno
 * where they are not to be had. They live as long as the process. */
const struct interpreter_file *interpreter_files(uint32_t kind);
