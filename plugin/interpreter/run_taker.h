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

/* An interpreter that was started in its sandbox: finds what its payload left it. */
void run_taker_adopt(void);

/* An interpreter that is to be copied: serves copies until the supervisor ends. Returns in each
 * copy, which is the payload of a sandbox with every layer that needs no run. before is called in
 * front of each copying and after behind it, in the original. left_out: the names of modules that
 * it does without, for people. */
void run_taker_serve_forks(const char *left_out, void (*before)(void), void (*after)(void));

/* One that cannot be copied: says so to the supervisor, and why ("NAME DETAIL" of
 * preparation_outcome.h), and ends. */
_Noreturn void run_taker_refuse_forks(const char *why);

/* Of a copy, once it is as its program will find it: spends the time until there is a run. */
void run_taker_cow_prefault(void);

/* Waits for the run and does all that is left to do but the running. */
void run_taker_wait(struct taken_run *ret);
