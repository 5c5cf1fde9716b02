/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate: the conditions of a run, in their fixed order, and the run itself between its two audit
 * records. A stage begins only after the one before it has passed. Runs on the thread inside
 * tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "call/call.h"

struct secret_value;

/* Takes the call from its input to its end. true: the program ran and call->outcome says how it
 * ended. false with error: it did not run, or the backend was lost (call->executed tells). The end
 * of every run that began is recorded. */
bool gate_pass(struct call *call, const char *tool, const char *input_json, struct error *error);

/* The part that the policy decides alone, for questions about a policy: reads the input and plans
 * the run of a call whose configuration is settled. Asks nobody, starts nothing. */
bool gate_apply_policy(struct call *call, const char *tool, const char *input_json,
                       struct error *error);

/* The stage from a request and a policy to the description that a backend gets (plan.c). About
 * permission it decides only limits and languages. Fills call->language, call->description (without
 * secrets) and the output limits. false with LANGUAGE_NOT_ALLOWED, LIMIT_TOO_HIGH, INVALID_INPUT (a
 * file named as the program is, a variable that no shell would set), INVALID_POLICY (the same of
 * the policy's), NOT_SUPPORTED or OUT_OF_MEMORY. */
bool plan_run(struct call *call, struct error *error);

/* The stage that brings an approved call's secrets to its run (secret_delivery.c): asks for them
 * and adds them to the redaction. Fills call->redaction and the description, which has the only
 * copy that is not locked, until the backend has it (run.h, spent). Of a cell behind the first of
 * its session, takes the session's redaction. false with what
 * secret_value_read() or redaction_add() says, or SECRET_UNUSABLE. */
bool deliver_secrets(struct call *call, struct error *error);
/* One of them, from the host or a provider of the policy; as secret_value_read(). */
bool call_read_secret(struct call *call, const char *name, struct secret_value *ret,
                      struct error *error);
