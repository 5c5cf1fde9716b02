/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records a call leaves with the host: "refused" where the gate stopped it, else "start" before
 * and "end" after the run. They name the caller, the request by hash, the policy, the approver, the
 * isolation and the end. They never hold code, output or a secret's value. Chaining and storing is
 * the host's part. Runs on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "call/call.h"

/* true: the host says the record is stored. */
bool audit_record_start(const struct call *call);
/* error: NULL where the program ran to an end. */
void audit_record_end(const struct call *call, const struct error *error);
/* A call of a tool by the run's program: "tool_call" before the host gets it, and "tool_call_end".
 * Without its arguments, of which it has the hash. */
bool audit_record_tool_call(const struct call *call, const struct tool_call *tool_call,
                            bool has_ended);
void audit_record_refusal(const struct call *call, const struct error *error);
