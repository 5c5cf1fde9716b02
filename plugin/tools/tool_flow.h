/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tools have been called, and what the policy's "tools.flows" say of a call behind them. It
 * outlives a run where a session owns it; one thread at a time uses it. Pure code, on the thread
 * inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/policy.h"
#include "json/json_text.h"

#define TOOL_FLOW_NAMES_LIMIT 1024

/* {0}: none has been called. */
struct tool_flow {
    char **names; /* each once, in the order of their first calls */
    size_t count;
    bool is_full; /* one more was called than can be remembered: it may have been any */
};

/* What the flows say of one call, at the moment at which it was made. */
struct tool_flow_verdict {
    enum approval_decision decision;
    size_t seen;   /* so many names were remembered then */
    size_t newest; /* the last of them by which somebody is asked, counted from 1; 0: none */
};

/* The tool counts as called from now on, whatever becomes of the call. */
void tool_flow_note(struct tool_flow *flow, const char *name);
void tool_flow_clear(struct tool_flow *flow);

struct tool_flow_verdict tool_flow_judge(const struct tool_flow *flow,
                                         const struct policy_tools *policy, const char *name);
/* The first name by which the verdict is what it is, or "*" where that may have been any; NULL: it
 * allows. */
const char *tool_flow_reason(const struct tool_flow *flow, const struct policy_tools *policy,
                             const char *name, const struct tool_flow_verdict *verdict);
/* The member "flow": decision and reason, or null. */
void tool_flow_write_verdict(const struct tool_flow *flow, const struct policy_tools *policy,
                             const char *name, const struct tool_flow_verdict *verdict,
                             struct json_draft *draft);
/* The names by which somebody is asked about the call of that verdict, as an array. */
void tool_flow_write(const struct tool_flow *flow, const struct policy_tools *policy,
                     const char *name, const struct tool_flow_verdict *verdict, const char *member,
                     struct json_draft *draft);
