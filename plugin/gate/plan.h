/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a request and a policy to the description that a backend gets: how the language is run, with
 * which limits, environment and files. About permission it decides only limits and languages. Pure
 * code, on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "call/call.h"

/* Fills call->language, call->description (without secrets) and the output limits. false with
 * LANGUAGE_NOT_ALLOWED, LIMIT_TOO_HIGH, INVALID_INPUT (a file named as the program is, a
 * variable that no shell would set), INVALID_POLICY (the same of the policy's),
 * NOT_SUPPORTED or OUT_OF_MEMORY. */
bool plan_run(struct call *call, struct error *error);
