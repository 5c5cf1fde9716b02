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
