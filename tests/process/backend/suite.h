/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of every test program here: one case with a backend of its own per test, TAP output,
 * and the choice of user. With PROCESS_TEST_UID set the program first becomes that ordinary user.
 * A test that does not apply is not run but printed as skipped, with its reason. Single-threaded.
 */
#pragma once

#include <check.h>

#include "harness.h"

/* The backend of the running test. */
extern struct backend backend;
/* Room for one run's outcome; large, so not on the stack. */
extern struct outcome outcome;

/* First in main(). Ends the program, as skipped, where the user cannot be had. */
void suite_begin(const char *name);

/* Adds a test; a reason other than NULL skips it. name and reason are borrowed. */
void suite_add(const TTest *test, const char *reason);
/* The same for one round of a test that is written over a table: _i is index. */
void suite_add_round(const TTest *test, int index, const char *name, const char *reason);

/* Runs what was added and returns the exit status for main(). */
int suite_end(void);

/* Reasons, NULL where there is none. */
const char *lacks_root(void);
/* Nobody counts the memory and processes of a run. */
const char *lacks_cgroup(void);
const char *has_cgroup(void);
/* No program of that name in the view's directories. */
const char *lacks_program(const char *name);

/* Runs and expects an ordinary end with that output. */
void expect_output(struct run_description *description, const char *output);
void expect_cause(const struct outcome *ended, enum run_cause cause);
