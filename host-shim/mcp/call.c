/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tool calls: the thread of each, and the list of all. The list and what can end a call are under
 * the server's lock; a call is freed by the main thread, after its thread.
 */
#include "mcp/call.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/digest.h"
#include "base/event.h"
#include "base/json.h"
#include "mcp/result/call_result.h"
#include "mcp/result/envelope.h"
#include "mcp/server.h"
#include "mcp/wire/json_rpc.h"

#define CANCEL_RETRY_MS 20

static void free_call(struct call *call)
{
    json_decref(call->id);
    session_clear(&call->session);
    free(call->name);
    free(call->input_json);
    free(call->context_json);
    close_fd(call->cancelled_fd);
    progress_clear(&call->progress);
    in_band_clear(&call->in_band);
    connection_release(call->connection);
    free(call);
}

static void take_output(void *user, uint32_t stream, const void *bytes, size_t length)
{
    struct call *call = user;
    bool is_line = stream == TOOL_STREAM_PROGRESS;
    if (progress_add(&call->progress, call->connection, call->session.progress_token, bytes, length,
                     is_line))
        server_wake(call->server);
}

static void take_notice(void *user, const char *text)
{
    (void)user;
    console_log_notice(text);
}

static json_t *invoke_tool(struct call *call)
{
    const struct provider *provider = call->server->provider;
    struct tool_host host;
    char *text = NULL;
    CLEANUP(lent_files_clear) struct lent_files files = {0};
    const struct file_sources sources = {call->server->options->files_below,
                                         call->grants.artifacts};
    CLEANUP_FREE char *context =
        lent_files_context(&files, &sources, call->input_json, call->context_json);
    if (!context)
        return NULL;
    call->grants.files = &files;
    struct call_questions questions;
    call_questions_init(&questions, grants_decide_call, &call->grants, provider->reply_approval);
    call->grants.questions = &questions;
    host_callbacks_fill(&host, &call->grants, call->number, context);
    in_band_attach(call, &host);
    in_band_deliver(call);
    int32_t status = provider->invoke(call->name, call->input_json, &host, &text);
    in_band_end(call);
    call_questions_end(&questions);
    CLEANUP_FREE char *copy = provider_take_text(provider, text);
    json_auto_t *parsed = provider_json_read(copy);
    json_t *output = json_is_object(parsed) ? parsed : NULL;
    grants_add_denial_hint(&call->grants, output);
    json_t *message = in_band_reply(call, output);
    if (message)
        return message;
    const struct tool_answer answer = {.tool = call->tool, .status = status, .output = output};
    json_t *result = call_result_make(call->grants.artifacts, &call->session,
                                      call->server->options->full_result, &answer);
    resource_list_add(&call->connection->resources, output);
    return envelope_complete(&call->server->catalogue, call->id, &call->session, result);
}

static bool is_cancelled(struct call *call)
{
    server_lock(call->server);
    bool cancelled = call->cancelled;
    server_unlock(call->server);
    return cancelled;
}

static void *run_call(void *argument)
{
    struct call *call = argument;
    struct server *server = call->server;
    json_auto_t *message = is_cancelled(call) ? NULL : invoke_tool(call);
    progress_end(&call->progress);
    if (is_cancelled(call)) /* a cancelled request gets no answer */
        connection_answer(call->connection, call->batch, NULL);
    else if (message)
        connection_answer(call->connection, call->batch, TAKE_POINTER(message));
    else
        connection_answer(call->connection, call->batch,
                          rpc_error(call->id, RPC_INTERNAL_ERROR, "out of memory", NULL));
    server_lock(server);
    call->finished = true;
    server_unlock(server);
    server_wake(server);
    return NULL;
}

/* The principal is the connection's; the trace comes from the client. */
static char *context_text(const struct call *call)
{
    const char *principal = call->connection->principal;
    const char *trace = call->session.traceparent;
    json_auto_t *context = json_copy(call->server->context);
    bool made = json_member_add(context, "principal", principal[0] ? principal : NULL) &&
                json_member_add(context, "traceparent", trace[0] ? trace : NULL) &&
                grants_add_tools(&call->server->grants->grants, context);
    return made ? json_compact(context) : NULL;
}

bool call_digest(const char *name, const json_t *arguments, char ret[65])
{
    json_auto_t *call = json_pack("[s, O]", name, arguments);
    CLEANUP_FREE char *text = call ? json_text(call, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (text)
        sha256_hex(text, strlen(text), ret);
    return text != NULL;
}

static struct call *new_call(struct connection *connection, struct call_order *order)
{
    struct call *call = calloc(1, sizeof(*call));
    if (!call)
        return NULL;
    call->server = connection->server;
    call->connection = connection;
    connection_hold(connection);
    call->batch = order->batch;
    call->tool = order->tool;
    call->in_band.answer = order->answer;
    order->answer = (struct in_band_answer){0};
    call->session = *order->session;
    *order->session = (struct session_revision){0};
    progress_start(&call->progress, call->session.progress_token != NULL);
    call->id = json_deep_copy(order->id);
    call->name = strdup(order->name);
    call->input_json = json_compact(order->arguments);
    call->context_json = context_text(call);
    call->cancelled_fd = event_new();
    if (call->id && call->name && call->input_json && call->context_json &&
        call->cancelled_fd >= 0 && call_digest(order->name, order->arguments, call->digest))
        return call;
    free_call(call);
    return NULL;
}

static void lend_grants(struct call *call)
{
    call->grants = call->server->grants->grants;
    call->grants.cancelled_fd = call->cancelled_fd;
    call->grants.take_output = take_output;
    call->grants.take_notice = take_notice;
    call->grants.user = call;
}

/* Under the lock. */
static bool add_call(struct server *server, struct call *call)
{
    size_t most = server->options->max_calls ? (size_t)server->options->max_calls : SERVER_CALLS;
    if (server->call_count >= most)
        return false;
    call->number = ++server->last_call;
    call->next = server->calls;
    server->calls = call;
    server->call_count++;
    return true;
}

static void remove_call(struct server *server, struct call *call)
{
    for (struct call **link = &server->calls; *link; link = &(*link)->next) {
        if (*link != call)
            continue;
        *link = call->next;
        server->call_count--;
        return;
    }
}

static void answer_error(struct connection *connection, const struct call *call, const char *code,
                         const char *message, const char *hint)
{
    connection_answer(connection, call->batch,
                      envelope_complete(&call->server->catalogue, call->id, &call->session,
                                        call_result_error(code, message, hint)));
}

void call_start(struct connection *connection, struct call_order *order)
{
    struct server *server = connection->server;
    struct call *call = new_call(connection, order);
    if (!call) {
        connection_answer(connection, order->batch,
                          rpc_error(order->id, RPC_INTERNAL_ERROR, "out of memory", NULL));
        return;
    }
    lend_grants(call);
    server_lock(server);
    bool added = add_call(server, call);
    int error = added ? pthread_create(&call->thread, NULL, run_call, call) : 0;
    if (error != 0)
        remove_call(server, call);
    server_unlock(server);
    if (added && error == 0)
        return;
    if (!added)
        answer_error(connection, call, "too_many_requests", "too many calls at the same time",
                     "wait for one of them to end, then repeat the call");
    else
        answer_error(connection, call, "internal", "no thread for the call", "");
    free_call(call);
}

/* Under the lock. */
static void cancel_call(struct call *call)
{
    if (call->cancelled)
        return;
    call->cancelled = true;
    event_set(call->cancelled_fd);
    (void)pthread_cond_broadcast(&call->server->changed);
}

void call_cancel(struct server *server, const struct connection *connection, const json_t *id)
{
    server_lock(server);
    for (struct call *call = server->calls; call; call = call->next) {
        if ((!connection || call->connection == connection) && (!id || rpc_same_id(call->id, id)))
            cancel_call(call);
    }
    server_unlock(server);
    server_wake(server);
}

bool call_is_known(struct server *server, const struct connection *connection, const json_t *id)
{
    bool known = false;
    server_lock(server);
    for (struct call *call = server->calls; call; call = call->next)
        known = known ||
                (call->connection == connection && !call->finished && rpc_same_id(call->id, id));
    server_unlock(server);
    return known;
}

void call_take_response(struct server *server, const struct connection *connection,
                        const json_t *id, json_t *result)
{
    const char *question = json_string_value(id);
    server_lock(server);
    for (struct call *call = server->calls; question && call; call = call->next) {
        if (call->connection == connection && call->in_band.question_id[0] &&
            strcmp(call->in_band.question_id, question) == 0)
            in_band_take_response(call, result);
    }
    (void)pthread_cond_broadcast(&server->changed);
    server_unlock(server);
}

static int sooner(int one, int other)
{
    if (one < 0 || other < 0)
        return one < 0 ? other : one;
    return one < other ? one : other;
}

/* The next finished call, off the list; its thread needs the lock no more. */
static struct call *take_finished(struct server *server)
{
    server_lock(server);
    struct call *call = server->calls;
    while (call && !call->finished)
        call = call->next;
    if (call)
        remove_call(server, call);
    server_unlock(server);
    return call;
}

/* Cancelling again is harmless. It is repeated while the provider does not know the call: its
 * thread may not have got that far. Under the lock: the provider's tool_cancel() does not block. */
static int tend_call(struct call *call)
{
    int next = progress_tend(&call->progress, call->connection, call->session.progress_token);
    if (!call->cancelled || call->cancel_accepted || call->finished)
        return next;
    call->cancel_accepted = call->server->provider->cancel(call->number) == TOOL_ACCEPTED;
    return call->cancel_accepted ? next : sooner(next, CANCEL_RETRY_MS);
}

int call_tend(struct server *server)
{
    for (struct call *call = take_finished(server); call; call = take_finished(server)) {
        (void)pthread_join(call->thread, NULL);
        free_call(call);
    }
    int next = -1;
    server_lock(server);
    for (struct call *call = server->calls; call; call = call->next)
        next = sooner(next, tend_call(call));
    server_unlock(server);
    return next;
}

size_t call_count(struct server *server)
{
    server_lock(server);
    size_t count = server->call_count;
    server_unlock(server);
    return count;
}
