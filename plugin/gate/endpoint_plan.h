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

/* Chooses call->endpoints, behind plan_run() and cell_plan(). false with NOT_SUPPORTED where mode,
 * session or network exclude them, or POLICY_DENIED. */
bool endpoint_plan(struct call *call, struct error *error);

/* The member of the canonical request; nothing where the request names no endpoints. shown: with
 * all that a person has to know who decides. */
void endpoint_plan_write(struct json_draft *draft, const char *name, const struct call *call,
                         bool shown);
