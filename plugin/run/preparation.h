/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a run can be served by an interpreter that was started before the run was known: it has
 * read its own variables by then. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>

#include "policy/policy.h"
#include "request/request.h"

/* Fills in how the language's interpreter is kept ready; nothing where the policy keeps none, where
 * the request has a variable that an interpreter reads at its start, or replaces one that it has.
 * The description holds the policy's variables and the language's arguments so far, and no others;
 * one of them is the program's file. false: no memory. */
bool preparation_fill(const struct policy_preparation *preparation, const struct request *request,
                      const char *program, struct run_description *description);
