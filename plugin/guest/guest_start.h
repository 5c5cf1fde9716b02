/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of the program that a run names: the search for it, its environment, and what of ours
 * begins it or stands in front of it. Runs in the guest.
 */
#pragma once

#include "guest/guest_program.h"
#include "guest/guest_protocol.h"

/* The first argument of this program where it is in front of the shell of a session
 * (interpreter/shell/shell_session.h): the shell's path, its name and its options follow. */
#define START_SHELL "shell"

enum start_outcome {
    START_DONE, /* *ret is the program, but of a trial */
    START_MISSING,
    START_FAILED, /* *ret_problem says why; it lasts until the next start */
};

/* input: the descriptor that becomes its standard input; the caller's. */
enum start_outcome start_program(const struct guest_run *run, int input, struct guest_program *ret,
                                 const char **ret_problem);
