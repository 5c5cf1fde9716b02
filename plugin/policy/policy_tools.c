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
#define FLOWS_LIMIT           64

#define AT(member) .offset = offsetof(struct policy, member)

static bool check_pattern(const struct json_place *place, const char *text)
{
    return name_pattern_valid(text) ||
           json_place_refuse(place, "must be a tool's name, or the beginning of one and \"*\"");
}

/* "allow" would say nothing, and look as if it did. */
static bool read_decision(const struct json_place *place, json_t *value, void *object)
{
    static const char *const names[] = {
        [APPROVAL_ASK - 1] = "ask", [APPROVAL_DENY - 1] = "deny", NULL};
    struct policy_tool_flow *flow = object;
    const char *name;
    unsigned choice;
    if (!json_read_string(place, value, 1, SIZE_MAX, &name) ||
        !json_choose(place, names, name, &choice))
        return false;
    flow->decision = (enum approval_decision)(choice + 1);
    return true;
}

#define OF_FLOW(member) .offset = offsetof(struct policy_tool_flow, member)

static const struct json_member flow_members[] = {
    {"after", &policy_strings, OF_FLOW(after), 1, .check = check_pattern},
    {"then", &policy_strings, OF_FLOW(then), 1, .check = check_pattern},
    {"decision", .read = read_decision},
    {0},
};

static const struct json_items flows = {
    .size = sizeof(struct policy_tool_flow),
    .count = offsetof(struct policy, tools.flow_count),
    .members = flow_members,
};

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
    {"flows", &member_list, AT(tools.flows), 0, FLOWS_LIMIT, .items = &flows},
    {0},
};

bool policy_allows_tool(const struct policy *policy, const char *name)
{
    return name_patterns_match(policy->tools.allowed, name) &&
           !name_patterns_match(policy->tools.denied, name);
}
