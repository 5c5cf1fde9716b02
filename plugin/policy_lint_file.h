/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is odd about a policy file as it is written: a merge patch on the built-in policy, in which
 * a member may change nothing, or less than its author thinks. Pure code, any thread.
 */
#pragma once

#include "policy.h"
#include "policy_finding.h"

/* Nothing for the built-in policy itself. */
void policy_lint_file(const struct policy *policy, struct policy_findings *findings);
