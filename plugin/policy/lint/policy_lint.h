/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings about a loadable policy: rules that never decide anything, secrets that no run may use,
 * ways around the floor. For operators; nothing at run time depends on it. Pure code, any thread.
 */
#pragma once

#include <jansson.h>

#include "policy/policy.h"

/* A new array of {"level": "warning" (it does not do what it seems to say, or runs without anybody
 * asked or isolated) or "notice" (it is as it says, and good to know), "place": a JSON pointer,
 * "rule": its id or null, "message"}; NULL when out of memory. */
json_t *policy_lint(const struct policy *policy);

/* Inner to the folder, from here on. */

struct lint {
    const struct policy *policy;
    json_t *findings; /* in order; borrowed */
    bool failed;      /* no memory */
};

#define LINT_WARNING "warning"
#define LINT_NOTICE  "notice"

/* level: one of the above. place: a JSON pointer. rule: the id of the rule, NULL for none. */
void lint_add(struct lint *lint, const char *level, const char *place, const char *rule,
              const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Findings about a policy file as it is written: a merge patch on the built-in policy, in which a
 * member may change nothing, or less than its author thinks. Nothing for the built-in policy. */
void lint_file(struct lint *lint);

/* Findings about the policy's endpoints. */
void lint_endpoints(struct lint *lint);

/* Does the policy offer any of these languages, or allow any of these modes? NULL: any will do. */
bool lint_offers_language(const struct policy *policy, char *const *languages);
bool lint_allows_mode(const struct policy *policy, char *const *modes);

/* Both err on the side of saying nothing. NULL, or why no request can meet all conditions of the
 * rule under its policy. */
const char *policy_rule_is_idle(const struct policy *policy, const struct policy_rule *rule);
/* Of an outer rule that is as strict as the inner one, or stricter. true: whatever request the
 * inner rule applies to, the outer one applies to as well. */
bool policy_rule_covers(const struct policy *policy, const struct policy_rule *outer,
                        const struct policy_rule *inner);
