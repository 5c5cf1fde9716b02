/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The endpoints of the policy that a request's program may reach: chosen before anybody is asked,
 * and bound into the request's hash by the digest of each definition. Runs on the thread inside
 * tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "call/call.h"

/* Chooses call->endpoints, behind plan_run() and cell_plan(). false with NOT_SUPPORTED where mode
 * or network exclude them, POLICY_DENIED, or INVALID_INPUT where the session was begun without one.
 */
bool endpoint_plan(struct call *call, struct error *error);

/* Is the call a cell of a session that was begun with endpoints, whether it names some or not? */
bool endpoint_plan_of_session(const struct call *call);

/* The member of the canonical request; nothing where the request names no endpoints. shown: with
 * all that a person has to know who decides. */
void endpoint_plan_write(struct json_draft *draft, const char *name, const struct call *call,
                         bool shown);
