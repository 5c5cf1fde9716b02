/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program sends as calls of tools: reading each, and refusing at once what no gate needs to
 * look at. See tool_calls.h. Runs in the gateway, on the thread inside tool_invoke().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "tools/tool_calls.h"
#include "tools/tool_frames.h"
#include "tools/tool_schema.h"

/* Beside max_in_flight, whose arguments are kept whatever their length is: a program's own side
 * keeps to that number, so its calls are never too many. */
#define MORE_CALLS_OF_FULL_LENGTH 4

static void put_message(char ret[TOOL_SCHEMA_MESSAGE_SIZE], const char *message)
{
    (void)snprintf(ret, TOOL_SCHEMA_MESSAGE_SIZE, "%s", message);
}

/* An object that the tool's schema does not refuse; else why not. */
static bool check_arguments(const struct tool_call *call, char message[TOOL_SCHEMA_MESSAGE_SIZE])
{
    struct error error;
    struct tool_schema_result result;
    json_auto_t *arguments = tool_arguments_read(call->arguments, call->arguments_length,
                                                 call->arguments_length, &error);
    if (!arguments) {
        put_message(message, error.message);
        return false;
    }
    tool_schema_check(call->tool->input_schema, arguments, &result);
    put_message(message, result.message);
    return result.fits;
}

/* Judged as the call comes: what it carries, no later call has brought. */
static bool check_flow(struct tool_calls *calls, struct tool_call *call,
                       char message[TOOL_SCHEMA_MESSAGE_SIZE])
{
    struct tool_flow *flow = calls->terms.flow;
    const struct policy_tools *policy = calls->terms.limits;
    call->flow = tool_flow_judge(flow, policy, call->name);
    if (call->flow.decision == APPROVAL_DENY) {
        (void)snprintf(message, TOOL_SCHEMA_MESSAGE_SIZE,
                       "the policy does not allow %s any more once %s has been called", call->name,
                       tool_flow_reason(flow, policy, call->name, &call->flow));
        return false;
    }
    tool_flow_note(flow, call->name);
    return true;
}

/* Whether the call may wait for its turn; else why not. */
static bool check_call(struct tool_calls *calls, struct tool_call *call, enum tool_error_code *ret,
                       char message[TOOL_SCHEMA_MESSAGE_SIZE])
{
    const struct policy_tools *limits = calls->terms.limits;
    const struct tool_gate *gate = &calls->terms.gate;
    *ret = TOOL_ERROR_LIMIT_EXCEEDED;
    if (call->seq > limits->max_calls) {
        put_message(message, "the run has made as many calls as the policy allows");
        return false;
    }
    if (calls->open_bytes + call->arguments_length >
        (limits->max_in_flight + MORE_CALLS_OF_FULL_LENGTH) * limits->arguments_bytes) {
        put_message(message, "too many calls wait for their turn");
        return false;
    }
    *ret = TOOL_ERROR_UNKNOWN_TOOL;
    if (!call->tool) {
        put_message(message, "the run has no tool of that name");
        return false;
    }
    *ret = TOOL_ERROR_INVALID_ARGUMENTS;
    if (!check_arguments(call, message))
        return false;
    *ret = TOOL_ERROR_ACCESS_DENIED;
    put_message(message, "the gateway does not grant this tool");
    if (!gate->grants(gate->user, call->tool))
        return false;
    *ret = TOOL_ERROR_POLICY_DENIED;
    return check_flow(calls, call, message);
}

static void append(struct tool_calls *calls, struct tool_call *call)
{
    *calls->end = call;
    calls->end = &call->next;
    calls->open_bytes += call->arguments_length;
}

static struct tool_call *new_call(struct tool_calls *calls, const struct tool_call_frame *frame)
{
    struct tool_call *call = calloc(1, sizeof(*call));
    if (!call)
        return NULL;
    call->arguments = malloc(frame->arguments_length + 1);
    if (!call->arguments) {
        free(call);
        return NULL;
    }
    memcpy(call->arguments, frame->arguments, frame->arguments_length);
    call->arguments[frame->arguments_length] = '\0';
    call->arguments_length = frame->arguments_length;
    call->number = frame->number;
    call->seq = ++calls->made;
    memcpy(call->name, frame->name, sizeof(call->name));
    call->tool = tool_list_find(calls->terms.tools, call->name);
    call->begin_ms = monotonic_ms();
    call->deadline_ms = call->begin_ms + calls->terms.limits->call_timeout_ms;
    tool_call_hash(call, calls->terms.run_id);
    return call;
}

enum frame_verdict tool_calls_judge(size_t length)
{
    /* A longer frame is none: what a program calls by refuses such arguments itself. */
    return length <= tool_call_frame_limit(TOOL_ARGUMENTS_LIMIT) ? FRAME_KEEP : FRAME_REFUSE;
}

static void refuse_frame(struct tool_calls *calls, uint32_t number,
                         const struct tool_refusal *refusal)
{
    CLEANUP(tool_answer_clear) struct tool_answer answer = {.form = TOOL_ANSWER_ERROR};
    if (number != 0 && tool_error_answer(refusal->code, refusal->message, false, &answer))
        answer_queue_add(&calls->answers, number, &answer);
}

/* A program that reads no answer gets no further one, however many calls it makes. One that reads
 * gets all: large answers may be on their way while it makes the next call. */
void tool_calls_take(struct tool_calls *calls, const unsigned char *payload, size_t length)
{
    struct tool_call_frame frame;
    struct tool_refusal refusal;
    char message[TOOL_SCHEMA_MESSAGE_SIZE];
    enum tool_error_code why;
    if (answer_queue_is_flooded(&calls->answers))
        return;
    if (!tool_call_frame_read(payload, length, calls->terms.limits->arguments_bytes, &frame,
                              &refusal)) {
        refuse_frame(calls, frame.number, &refusal);
        return;
    }
    if (calls->has_ended) {
        refusal = (struct tool_refusal){TOOL_ERROR_CANCELLED, TOOL_CALLS_ENDED};
        refuse_frame(calls, frame.number, &refusal);
        return;
    }
    struct tool_call *call = new_call(calls, &frame);
    if (!call) {
        refusal = (struct tool_refusal){TOOL_ERROR_UNAVAILABLE, "no memory for the call"};
        refuse_frame(calls, frame.number, &refusal);
        return;
    }
    if (check_call(calls, call, &why, message))
        append(calls, call);
    else
        tool_calls_fail(calls, call, why, message);
}
