/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an approval rule can apply under its policy at all, and whether another one always
 * applies where it does. Both err on the side of saying nothing. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>

#include "policy/policy.h"

/* NULL, or why no request can meet all of its conditions. */
const char *policy_rule_is_idle(const struct policy *policy, const struct policy_rule *rule);

/* Of an outer rule that is as strict as the inner one, or stricter. true: whatever request the
 * inner rule applies to, the outer one applies to as well. */
bool policy_rule_covers(const struct policy *policy, const struct policy_rule *outer,
                        const struct policy_rule *inner);
