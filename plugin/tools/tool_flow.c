/* SPDX-License-Identifier: Apache-2.0 */
/* The tools that have been called: see tool_flow.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "tools/tool_flow.h"

#include "base/cleanup.h"
#include "base/string_list.h"
#include "vocabulary/pattern.h"

#define ANY "*"

void tool_flow_note(struct tool_flow *flow, const char *name)
{
    if (flow->is_full || string_list_contains(flow->names, name))
        return;
    if (flow->count < TOOL_FLOW_NAMES_LIMIT && string_list_append(&flow->names, name))
        flow->count++;
    else
        flow->is_full = true;
}

void tool_flow_clear(struct tool_flow *flow)
{
    string_list_free(flow->names);
    *flow = (struct tool_flow){0};
}

/* The strictest decision on a call of the tool behind one of the other; NULL: behind any. */
static enum approval_decision decide(const struct policy_tools *policy, const char *earlier,
                                     const char *name)
{
    enum approval_decision decision = APPROVAL_ALLOW;
    for (size_t i = 0; i < policy->flow_count; i++) {
        const struct policy_tool_flow *row = &policy->flows[i];
        if (row->decision > decision && name_patterns_match(row->then, name) &&
            (!earlier || name_patterns_match(row->after, earlier)))
            decision = row->decision;
    }
    return decision;
}

struct tool_flow_verdict tool_flow_judge(const struct tool_flow *flow,
                                         const struct policy_tools *policy, const char *name)
{
    struct tool_flow_verdict verdict = {.seen = flow->count};
    if (decide(policy, NULL, name) == APPROVAL_ALLOW)
        return verdict;
    for (size_t i = 0; i < flow->count; i++) {
        enum approval_decision decision = decide(policy, flow->names[i], name);
        if (decision > verdict.decision)
            verdict.decision = decision;
        if (decision != APPROVAL_ALLOW)
            verdict.newest = i + 1;
    }
    if (flow->is_full) {
        verdict.decision = decide(policy, NULL, name);
        verdict.newest = SIZE_MAX;
    }
    return verdict;
}

const char *tool_flow_reason(const struct tool_flow *flow, const struct policy_tools *policy,
                             const char *name, const struct tool_flow_verdict *verdict)
{
    if (verdict->decision == APPROVAL_ALLOW)
        return NULL;
    for (size_t i = 0; i < verdict->seen; i++)
        if (decide(policy, flow->names[i], name) == verdict->decision)
            return flow->names[i];
    return ANY;
}

void tool_flow_write_verdict(const struct tool_flow *flow, const struct policy_tools *policy,
                             const char *name, const struct tool_flow_verdict *verdict,
                             struct json_draft *draft)
{
    if (verdict->decision == APPROVAL_ALLOW) {
        json_draft_string(draft, "flow", NULL);
        return;
    }
    json_draft_open(draft, "flow", '{');
    json_draft_string(draft, "after", tool_flow_reason(flow, policy, name, verdict));
    json_draft_string(draft, "decision", verdict->decision == APPROVAL_ASK ? "ask" : "deny");
    json_draft_close(draft, '}');
}

void tool_flow_write(const struct tool_flow *flow, const struct policy_tools *policy,
                     const char *name, const struct tool_flow_verdict *verdict, const char *member,
                     struct json_draft *draft)
{
    json_draft_open(draft, member, '[');
    for (size_t i = 0; i < verdict->seen; i++)
        if (decide(policy, flow->names[i], name) != APPROVAL_ALLOW)
            json_draft_string(draft, NULL, flow->names[i]);
    if (verdict->newest == SIZE_MAX)
        json_draft_string(draft, NULL, ANY);
    json_draft_close(draft, ']');
}
