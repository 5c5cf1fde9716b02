/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools of the gateway that a request's program may call: chosen before anybody is asked, and
 * bound into the request's hash by the digest of each definition. Runs on the thread inside
 * tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "call/call.h"

/* Not by the policy alone: the tool that runs the program is none for it. */
bool tool_plan_allows(const struct policy *policy, const char *name);

/* Chooses call->tools, behind plan_run() and cell_plan(). A later cell of a session whose request
 * does not say has the session's, which the request gets. false with NOT_SUPPORTED or
 * POLICY_DENIED. */
bool tool_plan(struct call *call, struct error *error);

/* The member of the canonical request; nothing where the request names no tools. shown: with title,
 * description and the approval that each needs, for a person. */
void tool_plan_write(struct json_draft *draft, const char *name, const struct call *call,
                     bool shown);
