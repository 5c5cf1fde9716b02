/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a run: see tool_calls.h. Runs in the gateway, on the thread inside tool_invoke(). */
#include "tools/tool_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "tool_provider.h"
#include "tools/tool_answer.h"
#include "tools/tool_count.h"

static uint64_t now_us(void)
{
    return monotonic_ms() * 1000;
}

static void remove_call(struct tool_calls *calls, const struct tool_call *call)
{
    struct tool_call **place = &calls->first;
    while (*place != call)
        place = &(*place)->next;
    *place = call->next;
    if (calls->end == &call->next)
        calls->end = place;
    calls->open_bytes -= call->arguments_length;
}

static void add_row(struct tool_calls *calls, const struct tool_call *call)
{
    struct json_draft *rows = &calls->rows;
    if (calls->row_count >= TOOL_ROWS_LIMIT)
        return;
    calls->row_count++;
    json_draft_open(rows, NULL, '{');
    json_draft_integer(rows, "seq", (int64_t)call->seq);
    json_draft_string(rows, "tool", call->name);
    json_draft_string(rows, "status", tool_call_status_name(call->status));
    if (call->status != TOOL_CALL_OK)
        json_draft_string(rows, "code", tool_error_name(call->error));
    json_draft_integer(rows, "duration_ms", (int64_t)call->duration_ms);
    json_draft_integer(rows, "bytes_in", (int64_t)call->arguments_length);
    json_draft_integer(rows, "bytes_out", (int64_t)call->answer_bytes);
    if (call->sha256[0] != '\0')
        json_draft_string(rows, "call_sha256", call->sha256);
    if (call->approver[0] != '\0') {
        json_draft_string(rows, "approved_by", call->approver);
        json_draft_string(rows, "decision", approval_answer_name(call->decision));
    }
    if (call->flow.decision != APPROVAL_ALLOW)
        tool_flow_write_verdict(calls->terms.flow, calls->terms.limits, call->name, &call->flow,
                                rows);
    json_draft_close(rows, '}');
}

/* It is in no list any more. answer: for the program; NULL: it hears nothing. */
static void end_call(struct tool_calls *calls, struct tool_call *call,
                     const struct tool_answer *answer)
{
    const struct tool_gate *gate = &calls->terms.gate;
    call->duration_ms = monotonic_ms() - call->begin_ms;
    if (answer && call->status == TOOL_CALL_OK)
        call->answer_bytes = answer->length;
    if (answer)
        answer_queue_add(&calls->answers, call->number, answer);
    add_row(calls, call);
    tool_count_end(call->status);
    (void)gate->record(gate->user, call, true); /* its start is stored */
    tool_call_free(call);
}

static enum tool_call_status status_of(enum tool_error_code error)
{
    switch (error) {
    case TOOL_ERROR_POLICY_DENIED:
    case TOOL_ERROR_ACCESS_DENIED:
    case TOOL_ERROR_APPROVAL_DENIED:
    case TOOL_ERROR_APPROVAL_PENDING:
    case TOOL_ERROR_APPROVAL_TIMEOUT:
    case TOOL_ERROR_HOST_DENIED:
        return TOOL_CALL_DENIED;
    case TOOL_ERROR_CANCELLED:
        return TOOL_CALL_CANCELLED;
    case TOOL_ERROR_INVALID_ARGUMENTS:
    case TOOL_ERROR_UNKNOWN_TOOL:
    case TOOL_ERROR_LIMIT_EXCEEDED:
    case TOOL_ERROR_TIMEOUT:
    case TOOL_ERROR_HOST_FAILED:
    case TOOL_ERROR_TOOL_ERROR:
    case TOOL_ERROR_UNAVAILABLE:
    case TOOL_ERROR_COUNT:
        break;
    }
    return TOOL_CALL_ERROR;
}

/* Whether the same call can go well later in the same run. */
static bool is_retryable(enum tool_error_code error)
{
    return error == TOOL_ERROR_TIMEOUT || error == TOOL_ERROR_APPROVAL_PENDING ||
           error == TOOL_ERROR_APPROVAL_TIMEOUT || error == TOOL_ERROR_HOST_FAILED;
}

void tool_calls_fail(struct tool_calls *calls, struct tool_call *call, enum tool_error_code error,
                     const char *message)
{
    CLEANUP(tool_answer_clear) struct tool_answer answer = {.form = TOOL_ANSWER_ERROR};
    bool is_told = tool_error_answer(error, message, is_retryable(error), &answer);
    call->status = status_of(error);
    call->error = error;
    end_call(calls, call, is_told ? &answer : NULL);
}

/* Out of the list first: what ends a call looks at no other. */
static void fail_listed(struct tool_calls *calls, struct tool_call *call,
                        enum tool_error_code error, const char *message)
{
    if (call->state != TOOL_CALL_WAITS)
        calls->in_flight--;
    remove_call(calls, call);
    tool_calls_fail(calls, call, error, message);
}

/* The host's or the approver's answer is waited for no more. */
static void withdraw(struct tool_calls *calls, struct tool_call *call)
{
    const struct tool_gate *gate = &calls->terms.gate;
    if (call->state == TOOL_CALL_WAITS)
        return;
    bool was_open = tool_inbox_forget(&calls->inbox, call->token);
    if (was_open && call->state == TOOL_CALL_OPEN)
        gate->withdraw(gate->user, call);
}

static struct tool_allowance *allowance_of(const struct tool_calls *calls,
                                           const struct tool_call *call)
{
    return &calls->allowed[call->tool - calls->terms.tools->items];
}

static void approve(struct tool_call *call, const char *approver, enum approval_answer decision)
{
    (void)snprintf(call->approver, sizeof(call->approver), "%s",
                   approver[0] != '\0' ? approver : "host");
    call->decision = decision;
}

/* Is nobody to be asked any more? Who has allowed all calls of the run knew of the tools that had
 * been called by then. */
static bool is_approved(const struct tool_calls *calls, struct tool_call *call)
{
    const struct tool_allowance *allowance = allowance_of(calls, call);
    if (call->tool->approval == TOOL_APPROVAL_ALWAYS_ASK)
        return false;
    if (call->tool->approval != TOOL_APPROVAL_ASK && call->flow.decision != APPROVAL_ASK)
        return true;
    if (allowance->seen <= call->flow.newest)
        return false;
    approve(call, allowance->approver, APPROVAL_ANSWER_ALLOW_RUN);
    return true;
}

static uint64_t time_left(const struct tool_call *call)
{
    uint64_t now = monotonic_ms();
    return call->deadline_ms > now ? call->deadline_ms - now : 0;
}

/* To the host, unless there is no record of it. */
static void open_call(struct tool_calls *calls, struct tool_call *call)
{
    const struct tool_gate *gate = &calls->terms.gate;
    if (!gate->record(gate->user, call, false)) {
        fail_listed(calls, call, TOOL_ERROR_UNAVAILABLE, "the call could not be recorded");
        return;
    }
    if (!tool_inbox_expect(&calls->inbox, TOKEN_OF_TOOL_CALL, calls->terms.limits->result_bytes,
                           &call->token)) {
        fail_listed(calls, call, TOOL_ERROR_UNAVAILABLE, "no memory for the call");
        return;
    }
    call->state = TOOL_CALL_OPEN;
    uint32_t verdict = gate->send(gate->user, call, time_left(call));
    if (verdict != TOOL_VERDICT_LATER && tool_inbox_forget(&calls->inbox, call->token))
        fail_listed(calls, call, TOOL_ERROR_HOST_DENIED, "the gateway has refused the call");
}

static void ask_approver(struct tool_calls *calls, struct tool_call *call)
{
    const struct tool_gate *gate = &calls->terms.gate;
    if (!tool_inbox_expect(&calls->inbox, TOKEN_OF_APPROVAL, APPROVAL_DECISION_BYTES_LIMIT,
                           &call->token)) {
        fail_listed(calls, call, TOOL_ERROR_UNAVAILABLE, "no memory for the call");
        return;
    }
    call->state = TOOL_CALL_ASKED;
    uint32_t verdict = gate->ask(gate->user, call, time_left(call));
    if (verdict == TOOL_VERDICT_LATER || !tool_inbox_forget(&calls->inbox, call->token))
        return;
    if (verdict == TOOL_VERDICT_ALLOW) {
        approve(call, "", APPROVAL_ANSWER_ALLOW_ONCE);
        open_call(calls, call);
    } else if (verdict == TOOL_VERDICT_PENDING)
        fail_listed(calls, call, TOOL_ERROR_APPROVAL_PENDING,
                    "the approval of this call is pending");
    else
        fail_listed(calls, call, TOOL_ERROR_APPROVAL_DENIED, "approval denied");
}

/* The oldest call that waits, if one may begin. */
static struct tool_call *next_call(const struct tool_calls *calls)
{
    if (calls->has_ended || calls->in_flight >= calls->terms.limits->max_in_flight ||
        answer_queue_is_full(&calls->answers) || tool_rate_wait_us(&calls->rate, now_us()) > 0)
        return NULL;
    struct tool_call *call = calls->first;
    while (call && call->state != TOOL_CALL_WAITS)
        call = call->next;
    return call;
}

static void begin_calls(struct tool_calls *calls)
{
    struct tool_call *call;
    while ((call = next_call(calls))) {
        calls->in_flight++;
        call->state = TOOL_CALL_ASKED; /* it does not wait any more */
        tool_rate_take(&calls->rate, now_us());
        if (is_approved(calls, call))
            open_call(calls, call);
        else
            ask_approver(calls, call);
    }
}

static void take_reply(struct tool_calls *calls, struct tool_call *call,
                       const struct tool_inbox_answer *reply)
{
    CLEANUP(tool_answer_clear) struct tool_answer answer = {.form = TOOL_ANSWER_ERROR};
    struct error error;
    if (!tool_reply_read(reply->bytes, reply->length, calls->terms.limits->result_bytes,
                         call->tool->output_schema != NULL, &answer, &error)) {
        fail_listed(calls, call, TOOL_ERROR_HOST_FAILED, error.message);
        return;
    }
    calls->in_flight--;
    remove_call(calls, call);
    call->status = answer.form == TOOL_ANSWER_ERROR ? TOOL_CALL_ERROR : TOOL_CALL_OK;
    call->error = TOOL_ERROR_TOOL_ERROR;
    end_call(calls, call, &answer);
}

static void take_decision(struct tool_calls *calls, struct tool_call *call,
                          const struct tool_inbox_answer *reply)
{
    CLEANUP(approval_decision_clear) struct approval_decision_text decision;
    bool is_good =
        approval_decision_read(reply->bytes, &decision) &&
        (decision.request_sha256[0] == '\0' || strcmp(decision.request_sha256, call->sha256) == 0);
    bool all = is_good && decision.answer == APPROVAL_ANSWER_ALLOW_RUN &&
               call->tool->approval != TOOL_APPROVAL_ALWAYS_ASK;
    calls->ends_run |= is_good && decision.answer == APPROVAL_ANSWER_CANCEL;
    if (!all && !(is_good && decision.answer == APPROVAL_ANSWER_ALLOW_ONCE)) {
        fail_listed(calls, call, TOOL_ERROR_APPROVAL_DENIED,
                    is_good && decision.reason[0] != '\0' ? decision.reason : "approval denied");
        return;
    }
    struct tool_allowance *allowance = allowance_of(calls, call);
    approve(call, decision.approver, decision.answer);
    if (all && allowance->seen <= call->flow.seen) {
        allowance->seen = call->flow.seen + 1;
        memcpy(allowance->approver, call->approver, sizeof(allowance->approver));
    }
    open_call(calls, call);
}

static struct tool_call *find_call(const struct tool_calls *calls, uint64_t token)
{
    struct tool_call *call = calls->first;
    while (call && (call->state == TOOL_CALL_WAITS || call->token != token))
        call = call->next;
    return call;
}

/* Was there any? */
static bool take_arrived(struct tool_calls *calls)
{
    struct tool_inbox_answer *reply;
    bool one_was_there = false;
    while ((reply = tool_inbox_take(&calls->inbox))) {
        one_was_there = true;
        struct tool_call *call = find_call(calls, reply->token);
        if (call && reply->kind == TOKEN_OF_APPROVAL)
            take_decision(calls, call, reply);
        else if (call)
            take_reply(calls, call, reply);
        tool_inbox_answer_free(reply);
    }
    return one_was_there;
}

static void end_late_calls(struct tool_calls *calls)
{
    uint64_t now = monotonic_ms();
    for (struct tool_call *call = calls->first, *next = NULL; call; call = next) {
        next = call->next;
        if (call->deadline_ms > now)
            continue;
        bool was_asked = call->state == TOOL_CALL_ASKED;
        withdraw(calls, call);
        fail_listed(calls, call, was_asked ? TOOL_ERROR_APPROVAL_TIMEOUT : TOOL_ERROR_TIMEOUT,
                    was_asked ? "nobody has decided on the call in time"
                              : "the call had no answer in time");
    }
}

/* A call that has its answer sooner costs less than the supervisor's look at its processor time. */
#define SHORT_CALL_MS 20

static uint64_t long_since_ms(const struct tool_calls *calls)
{
    uint64_t first = UINT64_MAX;
    for (const struct tool_call *call = calls->first; call; call = call->next)
        if (call->begin_ms < first)
            first = call->begin_ms;
    return first == UINT64_MAX ? first : first + SHORT_CALL_MS;
}

static bool has_output(void *user)
{
    return answer_queue_has_some(&((struct tool_calls *)user)->answers);
}

static uint64_t due_ms(void *user)
{
    const struct tool_calls *calls = user;
    uint64_t due = UINT64_MAX;
    bool one_waits = false;
    for (const struct tool_call *call = calls->first; call; call = call->next) {
        due = call->deadline_ms < due ? call->deadline_ms : due;
        one_waits |= call->state == TOOL_CALL_WAITS;
    }
    uint64_t wait_us = tool_rate_wait_us(&calls->rate, now_us());
    uint64_t turn = monotonic_ms() + (wait_us + 999) / 1000;
    uint64_t long_since = long_since_ms(calls);
    if (long_since > monotonic_ms() && long_since < due)
        due = long_since;
    bool is_held_up = calls->in_flight >= calls->terms.limits->max_in_flight ||
                      answer_queue_is_full(&calls->answers);
    return one_waits && !is_held_up && turn < due ? turn : due;
}

static bool is_waiting(void *user)
{
    return long_since_ms(user) <= monotonic_ms();
}

/* A host can answer from inside the call: so once more until nothing has arrived. */
static bool serve(void *user, int answers)
{
    struct tool_calls *calls = user;
    (void)take_arrived(calls);
    end_late_calls(calls);
    do
        begin_calls(calls);
    while (take_arrived(calls));
    if (!calls->ends_run || calls->has_ended) /* else the program is to do nothing more */
        answer_queue_write(&calls->answers, answers);
    return !calls->ends_run;
}

static void fail_all(struct tool_calls *calls, enum tool_error_code error, const char *message)
{
    calls->has_ended = true;
    while (calls->first) {
        struct tool_call *call = calls->first;
        withdraw(calls, call);
        fail_listed(calls, call, error, message);
    }
}

static void stop(void *user)
{
    fail_all(user, TOOL_ERROR_CANCELLED, TOOL_CALLS_ENDED);
}

void tool_calls_lose(struct tool_calls *calls)
{
    fail_all(calls, TOOL_ERROR_UNAVAILABLE,
             "the program has written something else than calls to their descriptor");
    answer_queue_end(&calls->answers);
}

bool tool_calls_begin(struct tool_calls *calls, const struct tool_calls_terms *terms,
                      struct error *error)
{
    *calls = (struct tool_calls){
        .terms = *terms,
        .inbox = {.wake_fd = -1},
        .rate = {.per_s = terms->limits->rate_per_s},
        .rows = {.order = JSON_ORDER_MADE},
        .allowed = calloc(terms->tools->count + 1, sizeof(struct tool_allowance)),
    };
    calls->end = &calls->first;
    if (!tool_inbox_open(&calls->inbox, error))
        return false;
    calls->served = (struct run_calls){
        .wake_fd = calls->inbox.wake_fd,
        .user = calls,
        .has_output = has_output,
        .due_ms = due_ms,
        .is_waiting = is_waiting,
        .serve = serve,
        .stop = stop,
    };
    if (calls->allowed && answer_queue_begin(&calls->answers, terms->tools, terms->limits))
        return true;
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the run's tools");
    return false;
}

void tool_calls_end(struct tool_calls *calls)
{
    if (!calls->end)
        return;
    stop(calls);
    tool_inbox_close(&calls->inbox);
    free(TAKE_POINTER(calls->allowed));
    answer_queue_clear(&calls->answers);
}

void tool_calls_clear(struct tool_calls *calls)
{
    tool_calls_end(calls);
    free(calls->rows.bytes);
    *calls = (struct tool_calls){.inbox = {.wake_fd = -1}};
}

void tool_calls_write(const struct tool_calls *calls, const char *name, struct json_draft *draft)
{
    json_draft_open(draft, name, '[');
    if (calls->rows.length > 0)
        json_draft_text(draft, NULL, calls->rows.bytes, calls->rows.length);
    json_draft_close(draft, ']');
}
