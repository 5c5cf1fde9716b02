/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interpreter that is started ahead of its run: Python, which waits at the end of its own start
 * (guest_python.h) until it is handed its arguments and variables.
 * Files and standard input are the guest's work, as for every program. Runs in the guest.
 */
#pragma once

#include <stdbool.h>

#include "guest/messages/guest_protocol.h"
#include "guest/program/guest_program.h"

struct guest_interpreter {
    struct guest_program program; /* pid 0: there is none */
    int run;                      /* where its run is handed to it */
    int told;                     /* what it tells; hangs up when it is no more */
    int input;                    /* becomes its standard input where the run has one */
};

/* arguments: variables, "--", and the command line. Returns when it waits. An image that has no
 * such interpreter, or no room for the script, gets none: the run's program is started as always.
 * NULL, or what could not be done. */
const char *interpreter_start(char *const *arguments, struct guest_interpreter *ret);
/* Hands it the run, and returns when it begins its program. false: it does not. */
bool interpreter_hand_over(struct guest_interpreter *interpreter, const struct guest_run *run);
