/* SPDX-License-Identifier: Apache-2.0 */
/* Deciding on calls of tools: see tool_gate.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "gate/tool_gate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "call/capability_check.h"
#include "gate/audit_record.h"
#include "host/host.h"

#define PROGRESS_LIMIT (TOOL_NAME_LIMIT + 48)

static bool grants(void *user, const struct tool_definition *tool)
{
    return capability_is_granted_for(user, CAPABILITY_TOOLS, tool->name);
}

static bool record(void *user, const struct tool_call *tool_call, bool has_ended)
{
    return audit_record_tool_call(user, tool_call, has_ended);
}

static void write_whose(struct json_draft *draft, const struct call *call,
                        const struct tool_call *tool_call)
{
    json_draft_string(draft, "run_id", call->run_id);
    json_draft_integer(draft, "seq", (int64_t)tool_call->seq);
    json_draft_string(draft, "principal", call->context.principal);
    json_draft_string(draft, "session", call->context.session);
}

/* The arguments come last: so the host has their exact bytes, which the hash is of. */
static char *call_text(const struct call *call, const struct tool_call *tool_call,
                       uint64_t deadline_in_ms)
{
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t length = 0;
    json_draft_open(&draft, NULL, '{');
    write_whose(&draft, call, tool_call);
    json_draft_string(&draft, "name", tool_call->name);
    json_draft_integer(&draft, "deadline_ms", (int64_t)deadline_in_ms);
    json_draft_string(&draft, "call_sha256", tool_call->sha256);
    json_draft_text(&draft, "arguments", tool_call->arguments, tool_call->arguments_length);
    json_draft_close(&draft, '}');
    return json_draft_take(&draft, &length);
}

static void tell_progress(const struct call *call, const struct tool_call *tool_call)
{
    char text[PROGRESS_LIMIT];
    int length = snprintf(text, sizeof(text), "the program calls %s (call %" PRIu64 ")",
                          tool_call->name, tool_call->seq);
    host_output(&call->host, TOOL_STREAM_PROGRESS, text, (size_t)length);
}

static uint32_t send_call(void *user, const struct tool_call *tool_call, uint64_t deadline_in_ms)
{
    struct call *call = user;
    CLEANUP_FREE char *text = call_text(call, tool_call, deadline_in_ms);
    if (!text)
        return TOOL_VERDICT_DENY;
    tell_progress(call, tool_call);
    call_note_callback(&call->registration, true);
    uint32_t verdict = host_call_tool(&call->host, tool_call->token, text);
    call_note_callback(&call->registration, false);
    return verdict;
}

static void withdraw(void *user, const struct tool_call *tool_call)
{
    const struct call *call = user;
    host_cancel_tool_call(&call->host, tool_call->token);
}

static void write_answers(struct json_draft *draft, const struct tool_call *tool_call)
{
    json_draft_open(draft, "allowed_decisions", '[');
    json_draft_string(draft, NULL, approval_answer_name(APPROVAL_ANSWER_ALLOW_ONCE));
    if (tool_call->tool->approval != TOOL_APPROVAL_ALWAYS_ASK)
        json_draft_string(draft, NULL, approval_answer_name(APPROVAL_ANSWER_ALLOW_RUN));
    json_draft_string(draft, NULL, approval_answer_name(APPROVAL_ANSWER_DENY));
    json_draft_string(draft, NULL, approval_answer_name(APPROVAL_ANSWER_CANCEL));
    json_draft_close(draft, ']');
}

/* Why a person is asked about a tool whose definition may not say so. */
static void write_flow(struct json_draft *draft, const struct call *call,
                       const struct tool_call *tool_call)
{
    bool by_flow = tool_call->flow.decision == APPROVAL_ASK;
    json_draft_string(draft, "asked_by",
                      by_flow ? "the policy's tools.flows" : "the tool's definition");
    if (by_flow)
        tool_flow_write(&call->tool_flow, &call->configuration.policy->tools, tool_call->name,
                        &tool_call->flow, "called_before", draft);
}

/* The hash that an answer is bound to is that of the call, which stands where another request's
 * has its own. */
static char *question_text(const struct call *call, const struct tool_call *tool_call,
                           uint64_t expires_in_ms)
{
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t length = 0;
    json_draft_open(&draft, NULL, '{');
    json_draft_string(&draft, "kind", "tool_call");
    json_draft_string(&draft, "tool", tool_call->name);
    json_draft_string(&draft, "title", tool_call->tool->title);
    json_draft_string(&draft, "description", tool_call->tool->description);
    write_whose(&draft, call, tool_call);
    json_draft_string(&draft, "request_sha256", tool_call->sha256);
    json_draft_string(&draft, "run_request_sha256", call->request_sha256);
    json_draft_integer(&draft, "expires_in_ms", (int64_t)expires_in_ms);
    json_draft_boolean(&draft, "in_band", call->configuration.policy->approval_in_band);
    json_draft_string(&draft, "reason", call->request.reason);
    write_flow(&draft, call, tool_call);
    write_answers(&draft, tool_call);
    json_draft_text(&draft, "arguments", tool_call->arguments, tool_call->arguments_length);
    json_draft_close(&draft, '}');
    return json_draft_take(&draft, &length);
}

static uint32_t ask(void *user, const struct tool_call *tool_call, uint64_t expires_in_ms)
{
    const struct call *call = user;
    CLEANUP_FREE char *text = question_text(call, tool_call, expires_in_ms);
    return text ? host_request_approval(&call->host, tool_call->token, text) : TOOL_VERDICT_DENY;
}

/* Files and variables of a sandbox live on, and with them what earlier cells have read. */
static void take_flow(struct call *call)
{
    if (!call->session)
        return;
    struct session_sandbox *sandbox = call->session->sandbox;
    call->tool_flow = sandbox->called;
    sandbox->called = (struct tool_flow){0};
}

static void leave_flow(struct call *call)
{
    if (!call->session)
        return;
    tool_flow_clear(&call->session->sandbox->called);
    call->session->sandbox->called = call->tool_flow;
    call->tool_flow = (struct tool_flow){0};
}

bool tool_gate_begin(struct call *call, struct error *error)
{
    take_flow(call);
    const struct tool_calls_terms terms = {
        .tools = &call->tools,
        .limits = &call->configuration.policy->tools,
        .run_id = call->run_id,
        .flow = &call->tool_flow,
        .gate = {.grants = grants,
                 .record = record,
                 .ask = ask,
                 .send = send_call,
                 .withdraw = withdraw,
                 .user = call},
    };
    if (!tool_calls_begin(&call->tool_calls, &terms, error)) {
        leave_flow(call);
        return false;
    }
    call->results.calls = &call->tool_calls;
    call->run.calls = &call->tool_calls.served;
    return true;
}

void tool_gate_end(struct call *call)
{
    tool_calls_end(&call->tool_calls);
    if (call->description.tools)
        leave_flow(call);
}
