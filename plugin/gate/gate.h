/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate: the conditions of a run, in their fixed order, and the run itself between its two audit
 * records. A stage begins only after the one before it has passed. Runs on the thread inside
 * tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "call/call.h"

/* Takes the call from its input to its end. true: the program ran and call->outcome says how it
 * ended. false with error: it did not run, or the backend was lost (call->executed tells). The end
 * of every run that began is recorded. */
bool gate_pass(struct call *call, const char *tool, const char *input_json, struct error *error);

/* The part that the policy decides alone, for questions about a policy: reads the input and plans
 * the run of a call whose configuration is settled. Asks nobody, starts nothing. */
bool gate_apply_policy(struct call *call, const char *tool, const char *input_json,
                       struct error *error);
