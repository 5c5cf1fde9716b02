/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set of packages that a run has: chosen by the request among the policy's environments, or, in
 * a later cell, the session's. Runs in the gateway, on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "call/call.h"
#include "json/json_text.h"

/* Finds the set, ahead of the plan of the run. false with NOT_SUPPORTED, POLICY_DENIED or
 * ENVIRONMENT_CHANGED. */
bool package_plan(struct call *call, struct error *error);
/* Adds it to the run's view and variables, ahead of the preparation of its interpreter. false: no
 * memory. */
bool package_plan_add(struct call *call);
/* Once the image of the run is known: was the set built in it? false with ENVIRONMENT_CHANGED. */
bool package_plan_fits_image(const struct call *call, const char *image_id, struct error *error);
/* A request that sets the same variable keeps its own directories, in front of the set's. false:
 * no memory. */
bool package_plan_keep(struct call *call);
/* How an interpreter for it is kept ready, where the run has a set: it imports the environment's
 * modules, in its sandbox. false: no memory. */
bool package_plan_prepare(struct call *call);
/* In a later cell that names none: the session's, for interpreters that are still to start. false:
 * no memory. */
bool package_plan_of_session(struct call *call);

/* The member of the canonical request; shown: to an approver. Nothing where the run has no set. */
void package_plan_write(struct json_draft *draft, const char *name, const struct call *call,
                        bool shown);
