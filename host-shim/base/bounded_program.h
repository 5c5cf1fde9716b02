/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program to its end within bounds of time and output. Its process group is killed
 * afterwards, unless it is ours. The caller's thread waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct bounded_program {
    const char *path;       /* looked for in PATH where it has no slash */
    char *const *arguments; /* NULL-terminated, the name first */
    int input;              /* its standard input */
    int error;              /* its standard error; -1: ours */
    bool at_terminal;       /* in our process group, with the terminal input as its output too */
    size_t output_limit;
    int wait_ms;
    int cancelled_fd; /* readable: give up; or -1 */
};

enum program_end {
    PROGRAM_EXITED,      /* number: its status */
    PROGRAM_SIGNALLED,   /* number: the signal */
    PROGRAM_NOT_STARTED, /* number: errno */
    PROGRAM_NOT_WATCHED, /* number: errno */
    PROGRAM_OUT_OF_TIME,
    PROGRAM_OUT_OF_BOUNDS, /* printed too much */
    PROGRAM_CANCELLED,
};

struct program_result {
    enum program_end end;
    int number;
    char *output; /* new, NUL-terminated; NULL when nothing was read */
    size_t length;
};

void bounded_program_run(const struct bounded_program *program, struct program_result *ret);
void program_result_clear(struct program_result *result);
