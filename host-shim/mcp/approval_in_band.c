/* SPDX-License-Identifier: Apache-2.0 */
/* Approval by the person at the client. On the thread of the call unless said otherwise. */
#include "mcp/approval_in_band.h"

#include <stdio.h>
#include <string.h>

#include "approval/approval.h"
#include "approval/approval_grants.h"
#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/console.h"
#include "base/deadline.h"
#include "base/digest.h"
#include "base/json.h"
#include "mcp/approval/approval_form.h"
#include "mcp/call.h"
#include "mcp/result/envelope.h"
#include "mcp/server.h"
#include "mcp/wire/json_rpc.h"
#include "mcp/wire/session_revision.h"

#define QUESTION "approval" /* its name among the input requests */

#define OTHER_APPROVERS                                                                         \
    "the operator can start toolhost mcp with --approve queue (somebody answers with toolhost " \
    "approvals), --approve cmd:PROGRAM (a program decides) or --approve ask (a person at "      \
    "toolhost's terminal)"

static const char nobody_answered[] = "nobody at the client answered in time";
static const char too_long[] =
    "the request is too long to be shown by the client; another approver is needed";
static const char cannot_ask[] =
    "this client cannot ask its user (it does not support form elicitation); " OTHER_APPROVERS;
static const char not_trusted[] = "the policy does not accept an answer from the client's own user "
                                  "(approval.in_band); " OTHER_APPROVERS;
/* A client of that revision is asked by the answer to its call, which a running program waits for.
 */
static const char not_meanwhile[] = "a client of protocol revision " SESSION_MODERN_REVISION
                                    " cannot be asked while a program runs; " OTHER_APPROVERS;
static const char switched_off[] =
    "approval by the client is switched off (--no-elicitation); " OTHER_APPROVERS;

static json_t *form_params(const struct server *server, const struct session_revision *session,
                           const json_t *request)
{
    return approval_form_params(request, server->options->elicitation_choice,
                                session_is_at_least(session, "2025-11-25"));
}

static void name_client(const struct call *call, struct approval_decision *decision)
{
    (void)snprintf(decision->approver, sizeof(decision->approver), "mcp-client:%s",
                   call->session.client);
}

static const char *reason_of(enum approval_word word)
{
    return approval_word_allows(word) ? "" : "the client's user did not accept";
}

/* Stores an answer that is to stand, and sends it to the provider. */
static bool reply_decision(const struct call *call, uint64_t token, const json_t *request,
                           enum approval_word word, const char *reason)
{
    struct approval_decision decision = {.word = word};
    if (word != APPROVAL_WORD_UNAVAILABLE)
        name_client(call, &decision);
    (void)snprintf(decision.reason, sizeof(decision.reason), "%s", reason);
    if (word == APPROVAL_WORD_ALLOW_ALWAYS)
        approval_remember(&call->grants.approver, request, &decision);
    if (decision.notice[0])
        console_log_notice(decision.notice);
    CLEANUP_FREE char *text = approval_decision_text(&decision, request);
    return text && call->server->provider->reply_approval(token, text) == TOOL_ACCEPTED;
}

static bool reply_word(const struct call *call, uint64_t token, const json_t *request,
                       enum approval_word word)
{
    return reply_decision(call, token, request, word, reason_of(word));
}

/* The person at the client was not asked, or did not answer. */
static void reply_unavailable(const struct call *call, uint64_t token, const json_t *request,
                              const char *reason, uint32_t *verdict)
{
    console_log_notice(reason);
    (void)reply_decision(call, token, request, APPROVAL_WORD_UNAVAILABLE, reason);
    *verdict = TOOL_VERDICT_LATER; /* refused where that is too late: the time is over */
}

void in_band_answer_clear(struct in_band_answer *answer)
{
    json_decref(answer->request);
    *answer = (struct in_band_answer){0};
}

void in_band_clear(struct in_band *in_band)
{
    in_band_answer_clear(&in_band->answer);
    json_decref(TAKE_POINTER(in_band->response));
}

void in_band_take_response(struct call *call, json_t *result)
{
    if (!call->in_band.response)
        call->in_band.response = result ? json_incref(result) : json_null();
}

static void send_question(const struct call *call, json_t *params)
{
    connection_send(call->connection,
                    rpc_request(call->in_band.question_id, "elicitation/create", params),
                    WRITE_NEEDED);
}

static void withdraw_question(const struct call *call)
{
    connection_send(call->connection,
                    rpc_notification("notifications/cancelled",
                                     json_pack("{s:s, s:s}", "requestId", call->in_band.question_id,
                                               "reason", "nobody answered in time")),
                    WRITE_NEEDED);
}

/* Under the lock. */
static bool may_wait(const struct call *call)
{
    return !call->in_band.response && !call->in_band.run_is_over && !call->cancelled;
}

/* Waits for the client's response, the call's end or the deadline. New; NULL: there was none. */
static json_t *wait_for_response(struct call *call, int wait_ms)
{
    const struct timespec deadline = deadline_timespec(monotonic_ms() + (uint64_t)wait_ms);
    struct server *server = call->server;
    server_lock(server);
    while (may_wait(call) &&
           pthread_cond_clockwait(&server->changed, &server->lock, CLOCK_MONOTONIC, &deadline) == 0)
        continue;
    json_t *response = TAKE_POINTER(call->in_band.response);
    if (response)
        call->in_band.question_id[0] = '\0';
    server_unlock(server);
    if (!response) {
        withdraw_question(call);
        server_lock(server);
        call->in_band.question_id[0] = '\0';
        server_unlock(server);
    }
    return response;
}

/* New: what the client responds to the form; NULL: nothing in time. Every question has a name of
 * its own, so that a late response to one is none to the next. */
static json_t *put_form(struct call *call, const json_t *request, json_t *params,
                        enum approval_word *ret_word)
{
    server_lock(call->server);
    json_decref(TAKE_POINTER(call->in_band.response));
    (void)snprintf(call->in_band.question_id, sizeof(call->in_band.question_id),
                   "approval-%llu-%llu", (unsigned long long)call->number,
                   (unsigned long long)++call->in_band.questions);
    server_unlock(call->server);
    send_question(call, json_incref(params));
    json_t *response = wait_for_response(call, approval_wait_ms(request));
    *ret_word = APPROVAL_WORD_DENY;
    (void)approval_form_read(request, response, call->server->options->elicitation_choice,
                             ret_word);
    return response;
}

static void ask_now(struct call *call, uint64_t token, const json_t *request, json_t *params,
                    uint32_t *verdict)
{
    enum approval_word word;
    json_auto_t *response = put_form(call, request, params, &word);
    if (!response)
        reply_unavailable(call, token, request, nobody_answered, verdict);
    else if (reply_word(call, token, request, word))
        *verdict = TOOL_VERDICT_LATER;
}

static void ask_with_next_try(struct call *call, uint64_t token, json_t *request, uint32_t *verdict)
{
    server_lock(call->server);
    bool waits =
        input_required_open(&call->server->input_required, call->in_band.request_sha256,
                            call->connection->principal, token, approval_wait_ms(request), request);
    server_unlock(call->server);
    if (waits)
        *verdict = TOOL_VERDICT_PENDING;
    else
        reply_unavailable(call, token, request, "too many approvals wait already", verdict);
}

static bool was_answered(const struct call *call)
{
    const struct in_band_answer *answer = &call->in_band.answer;
    return answer->given && strcmp(json_member_string(answer->request, "request_sha256", ""),
                                   call->in_band.request_sha256) == 0;
}

/* With a standing grant the client is not asked. */
static bool stands_granted(const struct call *call, const json_t *request)
{
    CLEANUP(approval_clear) struct approval_decision decision = {0};
    return approval_by_grant(&call->grants.approver, request, &decision);
}

static void ask_client(struct call *call, uint64_t token, json_t *request, uint32_t *verdict)
{
    json_auto_t *params = form_params(call->server, &call->session, request);
    bool trusted = !json_is_false(json_object_get(request, "in_band"));
    call->in_band.cannot_ask = trusted && !call->session.elicitation;
    if (!trusted)
        reply_unavailable(call, token, request, not_trusted, verdict);
    else if (call->in_band.cannot_ask)
        reply_unavailable(call, token, request, cannot_ask, verdict);
    else if (!params)
        reply_unavailable(call, token, request, too_long, verdict);
    else if (call->session.modern)
        ask_with_next_try(call, token, request, verdict);
    else
        ask_now(call, token, request, params, verdict);
}

/* Why the client cannot be asked about a call of a running program; NULL: it can, with the form
 * *ret_params (new). */
static const char *prepare_form(const struct call *call, const json_t *request, json_t **ret_params)
{
    if (json_is_false(json_object_get(request, "in_band")))
        return not_trusted;
    if (call->session.modern)
        return not_meanwhile;
    if (!call->session.elicitation)
        return cannot_ask;
    *ret_params = form_params(call->server, &call->session, request);
    return *ret_params ? NULL : too_long;
}

/* On the thread of the questions. */
static void decide_call(void *user, const struct approval_question *question,
                        struct approval_decision *ret)
{
    struct call *call = user;
    json_auto_t *params = NULL;
    enum approval_word word = APPROVAL_WORD_DENY;
    const char *why = prepare_form(call, question->request, &params);
    json_auto_t *response = why ? NULL : put_form(call, question->request, params, &word);
    if (!response) {
        approval_unavailable(ret, "%s", why ? why : nobody_answered);
        console_log_notice(ret->reason);
        return;
    }
    name_client(call, ret);
    approval_allow(ret, word, reason_of(word));
}

static void request_approval(void *user, uint64_t token, const char *request_json,
                             uint32_t *verdict)
{
    struct call *call = user;
    json_auto_t *request = json_loads(request_json, JSON_REJECT_DUPLICATES, NULL);
    if (approval_is_of_call(request)) {
        call->in_band.ask_elsewhere(user, token, request_json, verdict);
        return;
    }
    const char *request_sha256 = json_member_string(request, "request_sha256", "");
    if (!ascii_is_hex(request_sha256, SHA256_HEX)) {
        console_log_notice("denied: the provider's approval request has no request_sha256");
        return;
    }
    (void)snprintf(call->in_band.request_sha256, sizeof(call->in_band.request_sha256), "%s",
                   request_sha256);
    if (stands_granted(call, request)) {
        call->in_band.ask_elsewhere(user, token, request_json, verdict);
    } else if (was_answered(call)) {
        call->in_band.answer.given = false;
        if (reply_word(call, token, request, call->in_band.answer.word))
            *verdict = TOOL_VERDICT_LATER;
    } else {
        ask_client(call, token, request, verdict);
    }
}

static bool client_decides(const struct server *server)
{
    return !server->options->approver_named && !server->options->no_elicitation;
}

/* With --no-elicitation and without another approver there is no answer. */
static void refuse_approval(void *user, uint64_t token, const char *request_json, uint32_t *verdict)
{
    struct call *call = user;
    json_auto_t *request = json_loads(request_json, JSON_REJECT_DUPLICATES, NULL);
    if (stands_granted(call, request))
        call->in_band.ask_elsewhere(user, token, request_json, verdict);
    else
        reply_unavailable(call, token, request, switched_off, verdict);
}

void in_band_attach(struct call *call, struct tool_host *host)
{
    call->in_band.ask_elsewhere = host->request_approval;
    if (client_decides(call->server)) {
        host->request_approval = request_approval;
        call->grants.questions->decide = decide_call;
    } else if (!call->server->options->approver_named)
        host->request_approval = refuse_approval;
}

void in_band_end(struct call *call)
{
    server_lock(call->server);
    call->in_band.run_is_over = true;
    (void)pthread_cond_broadcast(&call->server->changed);
    server_unlock(call->server);
}

/* Where the provider has forgotten the request, it asks again, and the answer serves then. */
void in_band_deliver(struct call *call)
{
    struct in_band_answer *answer = &call->in_band.answer;
    if (answer->given && reply_word(call, answer->token, answer->request, answer->word))
        answer->given = false;
}

static json_t *input_required_result(struct server *server, const json_t *id,
                                     const struct session_revision *session, const json_t *request,
                                     const char *state)
{
    json_t *result = json_pack("{s:s, s:{s:{s:s, s:o}}, s:s}", "resultType", "input_required",
                               "inputRequests", QUESTION, "method", "elicitation/create", "params",
                               form_params(server, session, request), "requestState", state);
    return rpc_result(id, envelope_identify(&server->catalogue, result));
}

/* Under the server's lock. */
static json_t *ask_again(struct server *server, const json_t *id,
                         const struct session_revision *session, struct required_input *input,
                         const char *call_sha256)
{
    char state[REQUEST_STATE_LIMIT];
    return input_required_make_state(&server->input_required, input, call_sha256, state)
               ? input_required_result(server, id, session, input->request, state)
               : rpc_error(id, RPC_INTERNAL_ERROR, "no memory or no random numbers", NULL);
}

/* The request's hash as the provider's answer names it, where its approval waits from before. */
static const char *pending_sha256(const struct call *call, const json_t *output)
{
    const json_t *error = json_object_get(output, "error");
    if (strcmp(json_member_string(error, "code", ""), "approval_pending") != 0)
        return "";
    return json_member_string(json_object_get(output, "approval"), "request_sha256",
                              call->in_band.request_sha256);
}

json_t *in_band_reply(struct call *call, const json_t *output)
{
    if (!call->session.modern || !client_decides(call->server))
        return NULL;
    if (call->in_band.cannot_ask)
        return rpc_error(
            call->id, RPC_CAPABILITY_MISSING, cannot_ask,
            json_pack("{s:{s:{s:{}}}}", "requiredCapabilities", "elicitation", "form"));
    const char *request_sha256 = pending_sha256(call, output);
    json_t *message = NULL;
    server_lock(call->server);
    struct required_input *input = input_required_find(&call->server->input_required,
                                                       request_sha256, call->connection->principal);
    if (input && call->session.elicitation)
        message = ask_again(call->server, call->id, &call->session, input, call->digest);
    server_unlock(call->server);
    return message;
}

bool in_band_read_try(struct connection *connection, const json_t *id, const json_t *params,
                      const struct session_revision *session, const char *call_sha256,
                      struct in_band_answer *ret_answer, json_t **ret_reply)
{
    struct server *server = connection->server;
    const json_t *state = json_object_get(params, "requestState");
    *ret_answer = (struct in_band_answer){0};
    *ret_reply = NULL;
    if (!state)
        return true;
    enum request_state_verdict verdict = REQUEST_STATE_FORGED;
    server_lock(server);
    struct required_input *input = input_required_take_state(
        &server->input_required, json_is_string(state) ? json_string_value(state) : "",
        connection->principal, call_sha256, &verdict);
    const json_t *responses = json_object_get(params, "inputResponses");
    struct in_band_answer answer = {0};
    answer.given = input && approval_form_read(input->request, json_object_get(responses, QUESTION),
                                               server->options->elicitation_choice, &answer.word);
    if (verdict == REQUEST_STATE_FORGED) {
        *ret_reply = rpc_error(id, RPC_INVALID_PARAMS,
                               "requestState is not one that was given for this call", NULL);
    } else if (input && !answer.given && session->elicitation) {
        *ret_reply = ask_again(server, id, session, input, call_sha256);
    } else if (answer.given) {
        answer.token = input->token;
        answer.request = json_incref(input->request);
        *ret_answer = answer;
        input_required_answered(&server->input_required, input);
    }
    server_unlock(server);
    return *ret_reply == NULL;
}
