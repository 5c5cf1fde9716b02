/* SPDX-License-Identifier: Apache-2.0 */
/* The policy's section "tools". Pure code; runs in the gateway on the calling thread. */
#include <string.h>

#include "policy/policy_parse.h"
#include "vocabulary/pattern.h"

#define CALLS_LIMIT           1000000
#define IN_FLIGHT_LIMIT       256
#define ARGUMENTS_BYTES_LIMIT (INT64_C(1) << 20)
#define RESULT_BYTES_LIMIT    (INT64_C(64) << 20)
#define CALL_TIMEOUT_LIMIT    3600000
#define WAIT_TOTAL_LIMIT      86400000
#define RATE_LIMIT            1000000

#define AT(member) .offset = offsetof(struct policy, member)

static bool check_pattern(const struct json_place *place, const char *text)
{
    return name_pattern_valid(text) ||
           json_place_refuse(place, "must be a tool's name, or the beginning of one and \"*\"");
}

const struct json_member policy_tools_members[] = {
    {"allowed", &policy_strings, AT(tools.allowed), 0, .check = check_pattern},
    {"denied", &policy_strings, AT(tools.denied), 0, .check = check_pattern},
    {"max_calls", &member_uint64, AT(tools.max_calls), 1, CALLS_LIMIT},
    {"max_in_flight", &member_uint64, AT(tools.max_in_flight), 1, IN_FLIGHT_LIMIT},
    {"arguments_bytes", &member_uint64, AT(tools.arguments_bytes), 2, ARGUMENTS_BYTES_LIMIT},
    {"result_bytes", &member_uint64, AT(tools.result_bytes), 64, RESULT_BYTES_LIMIT},
    {"call_timeout_ms", &member_uint64, AT(tools.call_timeout_ms), 1, CALL_TIMEOUT_LIMIT},
    {"wait_total_ms", &member_uint64, AT(tools.wait_total_ms), 0, WAIT_TOTAL_LIMIT},
    {"rate_per_s", &member_uint64, AT(tools.rate_per_s), 1, RATE_LIMIT},
    {0},
};

static bool is_listed(char *const *patterns, const char *name)
{
    for (; *patterns; patterns++)
        if (name_pattern_matches(*patterns, name))
            return true;
    return false;
}

bool policy_allows_tool(const struct policy *policy, const char *name)
{
    return is_listed(policy->tools.allowed, name) && !is_listed(policy->tools.denied, name);
}
