/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings about a loadable policy: rules that never decide anything, secrets that no run may use,
 * ways around the floor. For operators; nothing at run time depends on it. Pure code, any thread.
 */
#pragma once

#include <jansson.h>

#include "policy/policy.h"
#include "policy/policy_finding.h"

/* A new array of {"level": "warning" (it does not do what it seems to say, or runs without anybody
 * asked or isolated) or "notice" (it is as it says, and good to know), "place": a JSON pointer,
 * "rule": its id or null, "message"}; NULL when out of memory. */
json_t *policy_lint(const struct policy *policy);

/* Findings about a policy file as it is written: a merge patch on the built-in policy, in which a
 * member may change nothing, or less than its author thinks. Nothing for the built-in policy. */
void policy_lint_file(const struct policy *policy, struct policy_findings *findings);
