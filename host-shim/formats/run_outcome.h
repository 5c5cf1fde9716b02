/* SPDX-License-Identifier: Apache-2.0 */
/* Exit status and summary of a result for toolhost run. Pure code, any thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#define EXIT_TIMEOUT   124
#define EXIT_NOT_RUN   125
#define EXIT_SIGNAL    128 /* plus the signal's number */
#define EXIT_CANCELLED 130

/* The exit status of toolhost run for a result. */
int run_outcome_exit_status(bool ran, const json_t *result);

/* One line of what isolated the program: mode, layers, duration, cause; new text, NULL when out of
 * memory. Not escaped. */
char *run_outcome_isolation_line(const json_t *result);
