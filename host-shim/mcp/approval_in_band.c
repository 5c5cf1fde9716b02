/* SPDX-License-Identifier: Apache-2.0 */
/* Approval by the person at the client. On the thread of the call unless said otherwise. */
#include "mcp/approval_in_band.h"

#include <stdio.h>
#include <string.h>

#include "approval.h"
#include "approval_grants.h"
#include "approval_show.h"
#include "cleanup.h"
#include "json_member.h"
#include "mcp/call.h"
#include "mcp/envelope.h"
#include "mcp/json_rpc.h"
#include "mcp/server.h"
#include "monotonic_clock.h"

#define SHOWN_COLUMNS   100u
#define LONGEST_MESSAGE 65536u
#define QUESTION        "approval" /* its name among the input requests */

#define OTHER_APPROVERS                                                                         \
    "the operator can start toolhost mcp with --approve queue (somebody answers with toolhost " \
    "approvals), --approve cmd:PROGRAM (a program decides) or --approve ask (a person at "      \
    "toolhost's terminal)"

static const char cannot_ask[] =
    "this client cannot ask its person (it offers no form elicitation); " OTHER_APPROVERS;
static const char not_trusted[] = "the policy does not take an answer from the client's own person "
                                  "(approval.in_band); " OTHER_APPROVERS;
static const char switched_off[] =
    "approval by the client is switched off (--no-elicitation); " OTHER_APPROVERS;

/* The whole request, as at the terminal: a person must not say yes to what was not shown. */
static char *draw_message(const json_t *request)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *page = open_memstream(&text, &length);
    if (!page)
        return NULL;
    (void)fputs("An agent asks to run this. Accept allows it once.\n", page);
    (void)approval_show(page, request, SHOWN_COLUMNS, APPROVAL_SHOW_ALL);
    bool drawn = !ferror(page);
    drawn = fclose(page) == 0 && drawn;
    return drawn && length <= LONGEST_MESSAGE ? TAKE_POINTER(text) : NULL;
}

/* No field: to accept is the whole answer, so that every client can give it. */
static json_t *elicitation_params(const struct terms *terms, const char *message)
{
    bool has_modes = terms_at_least(terms, "2025-11-25");
    return json_pack("{s:s*, s:s, s:{s:s, s:{}}}", "mode", has_modes ? "form" : NULL, "message",
                     message, "requestedSchema", "type", "object", "properties");
}

static enum in_band_decision read_action(const json_t *response)
{
    const char *action = json_member_string(response, "action", "");
    if (strcmp(action, "accept") == 0)
        return IN_BAND_ACCEPTED;
    if (strcmp(action, "decline") == 0 || strcmp(action, "cancel") == 0)
        return IN_BAND_DECLINED;
    return IN_BAND_UNDECIDED;
}

static bool reply(const struct call *call, uint64_t token, bool allow, const char *request_sha256,
                  const char *reason)
{
    char approver[sizeof(call->terms.client) + 32];
    (void)snprintf(approver, sizeof(approver), "mcp-client:%s", call->terms.client);
    CLEANUP_JSON json_t *decision =
        json_pack("{s:s, s:s, s:s*, s:s}", "decision", allow ? "allow_once" : "deny", "approver",
                  approver, "reason", reason, "request_sha256", request_sha256);
    CLEANUP_FREE char *text = decision ? json_dumps(decision, JSON_COMPACT) : NULL;
    return text && call->server->provider->reply_approval(token, text) == TOOL_ACCEPTED;
}

static bool reply_decision(const struct call *call, uint64_t token, enum in_band_decision decision,
                           const char *request_sha256)
{
    bool allow = decision == IN_BAND_ACCEPTED;
    return reply(call, token, allow, request_sha256,
                 allow ? NULL : "the person at the client did not accept");
}

static void deny(const struct call *call, uint64_t token, const char *request_sha256,
                 const char *reason, uint32_t *verdict)
{
    server_notice(reason);
    if (reply(call, token, false, request_sha256, reason))
        *verdict = TOOL_VERDICT_LATER;
}

void in_band_take_response(struct call *call, const json_t *result)
{
    if (call->in_band.response != IN_BAND_UNDECIDED)
        return;
    enum in_band_decision decision = read_action(result);
    call->in_band.response = decision == IN_BAND_UNDECIDED ? IN_BAND_DECLINED : decision;
}

static void send_question(const struct call *call, const char *message)
{
    connection_send(call->connection,
                    rpc_request(call->in_band.question_id, "elicitation/create",
                                elicitation_params(&call->terms, message)),
                    OUTBOX_NEEDED);
}

static void withdraw_question(const struct call *call)
{
    connection_send(call->connection,
                    rpc_notification("notifications/cancelled",
                                     json_pack("{s:s, s:s}", "requestId", call->in_band.question_id,
                                               "reason", "nobody answered in time")),
                    OUTBOX_NEEDED);
}

/* Waits for the client's response, the call's end or the deadline. */
static enum in_band_decision wait_for_response(struct call *call, int wait_ms)
{
    int64_t deadline_ms = monotonic_ms() + wait_ms;
    const struct timespec deadline = {.tv_sec = deadline_ms / 1000,
                                      .tv_nsec = (deadline_ms % 1000) * 1000000};
    struct server *server = call->server;
    server_lock(server);
    while (call->in_band.response == IN_BAND_UNDECIDED && !call->cancelled &&
           pthread_cond_clockwait(&server->changed, &server->lock, CLOCK_MONOTONIC, &deadline) == 0)
        continue;
    enum in_band_decision response = call->in_band.response;
    bool withdrawn = response == IN_BAND_UNDECIDED;
    if (!withdrawn)
        call->in_band.question_id[0] = '\0';
    server_unlock(server);
    if (withdrawn) {
        withdraw_question(call);
        server_lock(server);
        call->in_band.question_id[0] = '\0';
        server_unlock(server);
    }
    return response;
}

static void ask_now(struct call *call, uint64_t token, const json_t *request,
                    const char *request_sha256, const char *message, uint32_t *verdict)
{
    server_lock(call->server);
    call->in_band.response = IN_BAND_UNDECIDED;
    (void)snprintf(call->in_band.question_id, sizeof(call->in_band.question_id), "approval-%llu",
                   (unsigned long long)call->number);
    server_unlock(call->server);
    send_question(call, message);
    enum in_band_decision decision = wait_for_response(call, approval_wait_ms(request));
    if (decision == IN_BAND_UNDECIDED)
        deny(call, token, request_sha256, "nobody at the client answered in time", verdict);
    else if (reply_decision(call, token, decision, request_sha256))
        *verdict = TOOL_VERDICT_LATER;
}

static void ask_with_next_try(struct call *call, uint64_t token, const json_t *request,
                              const char *request_sha256, const char *message, uint32_t *verdict)
{
    server_lock(call->server);
    bool waits = rounds_open(&call->server->rounds, request_sha256, call->connection->principal,
                             token, approval_wait_ms(request), message);
    server_unlock(call->server);
    if (waits)
        *verdict = TOOL_VERDICT_PENDING;
    else
        deny(call, token, request_sha256, "too many approvals wait already", verdict);
}

static bool is_sha256(const char *text)
{
    return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static bool was_answered(struct call *call, const char *request_sha256)
{
    return call->in_band.answer.decision != IN_BAND_UNDECIDED &&
           strcmp(call->in_band.answer.request_sha256, request_sha256) == 0;
}

/* What somebody has allowed for good needs nobody at the client. */
static bool stands_granted(const struct call *call, const json_t *request)
{
    CLEANUP(approval_clear) struct approval_decision decision = {0};
    return approval_by_grant(&call->grants.approver, request, &decision);
}

static void request_approval(void *user, uint64_t token, const char *request_json,
                             uint32_t *verdict)
{
    struct call *call = user;
    CLEANUP_JSON json_t *request = json_loads(request_json, JSON_REJECT_DUPLICATES, NULL);
    const char *request_sha256 = json_member_string(request, "request_sha256", "");
    if (!is_sha256(request_sha256)) {
        server_notice("denied: the provider's approval request names no request_sha256");
        return;
    }
    (void)snprintf(call->in_band.request_sha256, sizeof(call->in_band.request_sha256), "%s",
                   request_sha256);
    if (stands_granted(call, request)) {
        call->in_band.ask_elsewhere(user, token, request_json, verdict);
        return;
    }
    if (was_answered(call, request_sha256)) {
        enum in_band_decision decision = call->in_band.answer.decision;
        call->in_band.answer.decision = IN_BAND_UNDECIDED;
        if (reply_decision(call, token, decision, request_sha256))
            *verdict = TOOL_VERDICT_LATER;
        return;
    }
    CLEANUP_FREE char *message = draw_message(request);
    bool trusted = !json_is_false(json_object_get(request, "in_band"));
    call->in_band.cannot_ask = trusted && !call->terms.elicitation;
    if (!trusted)
        deny(call, token, request_sha256, not_trusted, verdict);
    else if (call->in_band.cannot_ask)
        deny(call, token, request_sha256, cannot_ask, verdict);
    else if (!message)
        deny(call, token, request_sha256,
             "the request is too long to be shown by the client; another approver is needed",
             verdict);
    else if (call->terms.modern)
        ask_with_next_try(call, token, request, request_sha256, message, verdict);
    else
        ask_now(call, token, request, request_sha256, message, verdict);
}

static bool is_wanted(const struct server *server)
{
    return !server->options->approver_named && !server->options->no_elicitation;
}

/* Who distrusts the client's answers and has named nobody else gets no answer at all. */
static void refuse_approval(void *user, uint64_t token, const char *request_json, uint32_t *verdict)
{
    struct call *call = user;
    CLEANUP_JSON json_t *request = json_loads(request_json, JSON_REJECT_DUPLICATES, NULL);
    if (stands_granted(call, request))
        call->in_band.ask_elsewhere(user, token, request_json, verdict);
    else
        deny(call, token, json_member_string(request, "request_sha256", NULL), switched_off,
             verdict);
}

void in_band_attach(struct call *call, struct tool_host *host)
{
    call->in_band.ask_elsewhere = host->request_approval;
    if (is_wanted(call->server))
        host->request_approval = request_approval;
    else if (!call->server->options->approver_named)
        host->request_approval = refuse_approval;
}

/* Where the provider has forgotten the request, it asks again, and the answer serves then. */
void in_band_deliver(struct call *call)
{
    struct in_band_answer *answer = &call->in_band.answer;
    if (answer->decision != IN_BAND_UNDECIDED &&
        reply_decision(call, answer->token, answer->decision, answer->request_sha256))
        answer->decision = IN_BAND_UNDECIDED;
}

static json_t *input_required(struct server *server, const json_t *id, const struct terms *terms,
                              const char *message, const char *state)
{
    json_t *result = json_pack("{s:s, s:{s:{s:s, s:o}}, s:s}", "resultType", "input_required",
                               "inputRequests", QUESTION, "method", "elicitation/create", "params",
                               elicitation_params(terms, message), "requestState", state);
    return rpc_result(id, envelope_identify(server, result));
}

/* Under the server's lock. */
static json_t *ask_again(struct server *server, const json_t *id, const struct terms *terms,
                         struct round *round, const char *call_sha256)
{
    char state[REQUEST_STATE_LIMIT];
    return rounds_make_state(&server->rounds, round, call_sha256, state)
               ? input_required(server, id, terms, round->message, state)
               : rpc_error(id, RPC_INTERNAL_ERROR, "no random numbers", NULL);
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
    if (!call->terms.modern || !is_wanted(call->server))
        return NULL;
    if (call->in_band.cannot_ask)
        return rpc_error(
            call->id, RPC_CAPABILITY_MISSING, cannot_ask,
            json_pack("{s:{s:{s:{}}}}", "requiredCapabilities", "elicitation", "form"));
    const char *request_sha256 = pending_sha256(call, output);
    json_t *message = NULL;
    server_lock(call->server);
    struct round *round =
        rounds_find(&call->server->rounds, request_sha256, call->connection->principal);
    if (round && call->terms.elicitation)
        message = ask_again(call->server, call->id, &call->terms, round, call->digest);
    server_unlock(call->server);
    return message;
}

bool in_band_read_try(struct connection *connection, const json_t *id, const json_t *params,
                      const struct terms *terms, const char *call_sha256,
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
    struct round *round =
        rounds_of_state(&server->rounds, json_is_string(state) ? json_string_value(state) : "",
                        connection->principal, call_sha256, &verdict);
    const json_t *responses = json_object_get(params, "inputResponses");
    enum in_band_decision decision = read_action(json_object_get(responses, QUESTION));
    if (verdict == REQUEST_STATE_FORGED) {
        *ret_reply = rpc_error(id, RPC_INVALID_PARAMS,
                               "requestState is not one that was given for this call", NULL);
    } else if (round && decision == IN_BAND_UNDECIDED && terms->elicitation) {
        *ret_reply = ask_again(server, id, terms, round, call_sha256);
    } else if (round) {
        ret_answer->decision = decision;
        ret_answer->token = round->token;
        (void)snprintf(ret_answer->request_sha256, sizeof(ret_answer->request_sha256), "%s",
                       round->request_sha256);
        rounds_close(&server->rounds, round);
    }
    server_unlock(server);
    return *ret_reply == NULL;
}
