/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of every test program here: one case with a backend of its own per test, TAP output,
 * and the choice of user. With PROCESS_TEST_UID set the program first becomes that ordinary user
 * (77, skipped, where it is not root). Single-threaded.
 */
#pragma once

#include <check.h>

#include "harness.h"

/* The backend of the running test. */
extern struct backend backend;
/* Room for one run's outcome; large, so not on the stack. */
extern struct outcome outcome;

/* Runs the tests and returns the exit status for main(). */
int suite_main(const char *name, const TTest *const *tests);

/* Runs and expects an ordinary end with that output. */
void expect_output(struct run_description *description, const char *output);
void expect_cause(const struct outcome *ended, enum run_cause cause);
