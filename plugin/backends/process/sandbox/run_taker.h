/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an interpreter that was started before its run comes by it. Runs inside the interpreter, in
 * its one thread or the one that starts its program, before any line of the program. What fails is
 * reported to the sandbox's init and ends the process.
 */
#pragma once

#include <stdbool.h>

#include "backends/process/sandbox/sandbox.h"

/* What of its run an interpreter has to put in place. NULL-terminated, as long as the process. */
struct taken_run {
    char **arguments; /* behind those that it was started with */
    char **environment;
};

/* An interpreter that was started in its sandbox: *ret is what its payload left it. */
void run_taker_adopt(struct sandbox *ret);

/* Waits for the run and does all that is left to do but the running. */
void run_taker_wait(struct sandbox *sandbox, struct taken_run *ret);
