/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a client's messages and answers them, or starts the calls that will. A request names its
 * revision itself (2026-07-28) or has that of its connection's handshake (earlier revisions). Each
 * request decides, so one process serves both. Main thread.
 */
#include "mcp/dispatch.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/call.h"
#include "mcp/result/envelope.h"
#include "mcp/server_state.h"
#include "mcp/wire/json_rpc.h"

#define HANDSHAKE 1u
#define MODERN    2u
#define BOTH      (HANDSHAKE | MODERN)

#define BATCH_MOST 256u /* messages in an array */

struct request {
    struct connection *connection;
    struct batch *batch;
    struct rpc_message message;
    struct session_revision session;
};

static void answer_request(const struct request *request, json_t *message)
{
    connection_answer(request->connection, request->batch, message);
}

static void answer_error(const struct request *request, int code, const char *text, json_t *data)
{
    answer_request(request, rpc_error(request->message.id, code, text, data));
}

static void answer_complete(const struct request *request, json_t *result)
{
    answer_request(request, envelope_complete(&request->connection->server->catalogue,
                                              request->message.id, &request->session, result));
}

static void answer_cacheable(const struct request *request, json_t *result)
{
    answer_request(request, envelope_cacheable(&request->connection->server->catalogue,
                                               request->message.id, &request->session, result));
}

static json_t *capabilities_of(const struct session_revision *session)
{
    json_t *capabilities = json_pack("{s:{}, s:{}}", "tools", "resources");
    if (!session->modern)
        (void)json_object_set_new(capabilities, "logging", json_object());
    return capabilities;
}

static void initialize(struct request *request)
{
    struct connection *connection = request->connection;
    if (!json_is_string(json_object_get(request->message.params, "protocolVersion"))) {
        answer_error(request, RPC_INVALID_PARAMS, "initialize has no protocolVersion",
                     json_pack("{s:o}", "supported", session_supported_revisions()));
        return;
    }
    session_clear(&connection->session);
    session_read_handshake(request->message.params, &connection->session);
    connection->initialized = true;
    request->session = connection->session;
    answer_complete(request, json_pack("{s:s, s:o, s:o, s:O*}", "protocolVersion",
                                       connection->session.revision, "capabilities",
                                       capabilities_of(&connection->session), "serverInfo",
                                       envelope_server_info(&connection->server->catalogue),
                                       "instructions", connection->server->catalogue.instructions));
}

static void discover(struct request *request)
{
    answer_cacheable(request, json_pack("{s:o, s:o, s:O*}", "supportedVersions",
                                        session_supported_revisions(), "capabilities",
                                        capabilities_of(&request->session), "instructions",
                                        request->connection->server->catalogue.instructions));
}

static void answer_empty(struct request *request)
{
    answer_complete(request, json_object());
}

/* There is no log of the protocol's: standard error has it all. */
static void set_level(struct request *request)
{
    static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                         "error", "critical", "alert",  "emergency"};
    const char *level = json_member_string(request->message.params, "level", "");
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        if (strcmp(levels[i], level) == 0) {
            answer_empty(request);
            return;
        }
    }
    answer_error(request, RPC_INVALID_PARAMS, "no such level", NULL);
}

/* Every list has one page, so none has been given a cursor. The list (new) is taken over. */
static void answer_list(struct request *request, json_t *list)
{
    if (!json_object_get(request->message.params, "cursor")) {
        answer_cacheable(request, list);
        return;
    }
    json_decref(list);
    answer_error(request, RPC_INVALID_PARAMS, "no such cursor: the list has one page", NULL);
}

static void list_tools(struct request *request)
{
    answer_list(request, json_pack("{s:O}", "tools", request->connection->server->catalogue.tools));
}

static void call_tool(struct request *request)
{
    static const size_t shown = 128;
    struct connection *connection = request->connection;
    const json_t *params = request->message.params;
    const json_t *name_value = json_object_get(params, "name");
    const char *name = json_string_value(name_value);
    const json_t *given = json_object_get(params, "arguments");
    bool whole = name && strlen(name) == json_string_length(name_value); /* no NUL in it */
    const json_t *tool = whole ? catalogue_find(&connection->server->catalogue, name) : NULL;
    if (!name || (given && !json_is_object(given))) {
        answer_error(request, RPC_INVALID_PARAMS,
                     name ? "arguments must be an object" : "name is missing", NULL);
        return;
    }
    if (!tool) {
        char text[192];
        (void)snprintf(text, sizeof(text), "Unknown tool: %.*s", (int)shown, name);
        json_t *message = rpc_error(request->message.id, RPC_INVALID_PARAMS, text, NULL);
        if (!message) /* a name that was cut inside a character */
            message = rpc_error(request->message.id, RPC_INVALID_PARAMS, "Unknown tool", NULL);
        answer_request(request, message);
        return;
    }
    json_auto_t *none = json_object();
    const json_t *arguments = given ? given : none;
    struct call_order order = {.id = request->message.id,
                               .tool = tool,
                               .name = name,
                               .arguments = arguments,
                               .session = &request->session,
                               .batch = request->batch};
    char digest[65];
    json_t *reply = NULL;
    if (!call_digest(name, arguments, digest)) {
        answer_error(request, RPC_INTERNAL_ERROR, "out of memory", NULL);
        return;
    }
    if (request->session.modern &&
        !in_band_read_try(connection, request->message.id, params, &request->session, digest,
                          &order.answer, &reply))
        answer_request(request, reply);
    else
        call_start(connection, &order);
    in_band_answer_clear(&order.answer);
}

/* Files of runs are found by the links in results, and in no list. */
static void list_resources(struct request *request)
{
    answer_list(request, json_pack("{s:[]}", "resources"));
}

static void list_templates(struct request *request)
{
    answer_list(request, json_pack("{s:[]}", "resourceTemplates"));
}

static void read_resource(struct request *request)
{
    json_t *uri = json_object_get(request->message.params, "uri");
    if (!json_is_string(uri)) {
        answer_error(request, RPC_INVALID_PARAMS, "uri is missing", NULL);
        return;
    }
    json_t *contents =
        artifacts_read(&request->connection->server->artifacts, json_string_value(uri));
    if (contents)
        answer_cacheable(request, json_pack("{s:o}", "contents", contents));
    else
        answer_error(request, request->session.modern ? RPC_INVALID_PARAMS : RPC_RESOURCE_NOT_FOUND,
                     "Resource not found", json_pack("{s:O}", "uri", uri));
}

struct method {
    const char *name;
    unsigned eras;
    void (*serve)(struct request *request);
};

static const struct method methods[] = {
    {"initialize", HANDSHAKE, initialize},      {"ping", HANDSHAKE, answer_empty},
    {"logging/setLevel", HANDSHAKE, set_level}, {"server/discover", MODERN, discover},
    {"tools/list", BOTH, list_tools},           {"tools/call", BOTH, call_tool},
    {"resources/list", BOTH, list_resources},   {"resources/templates/list", BOTH, list_templates},
    {"resources/read", BOTH, read_resource},
};

static const struct method *find_method(const struct request *request)
{
    unsigned era = request->session.modern ? MODERN : HANDSHAKE;
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        if ((methods[i].eras & era) && strcmp(methods[i].name, request->message.method) == 0)
            return &methods[i];
    }
    return NULL;
}

/* initialize and ping open a connection of an earlier revision, and need nothing before them. */
static bool opens_handshake(const char *method)
{
    return strcmp(method, "initialize") == 0 || strcmp(method, "ping") == 0;
}

static bool read_terms(struct request *request)
{
    const struct connection *connection = request->connection;
    const json_t *params = request->message.params;
    struct session_problem problem = {0};
    if (!session_is_modern(params) &&
        (connection->initialized || opens_handshake(request->message.method))) {
        static const struct session_revision before_handshake = {.revision = "2024-11-05"};
        session_read_request(connection->initialized ? &connection->session : &before_handshake,
                             params, &request->session);
        return true;
    }
    if (session_read_modern(params, &request->session, &problem))
        return true;
    answer_error(request, problem.code, problem.message, problem.data);
    return false;
}

static void serve_request(struct request *request)
{
    if (!read_terms(request))
        return;
    const struct method *method = find_method(request);
    if (!method) {
        answer_error(request, RPC_METHOD_NOT_FOUND, "Method not found", NULL);
    } else if (call_is_known(request->connection->server, request->connection,
                             request->message.id)) {
        answer_error(request, RPC_INVALID_REQUEST, "a request with this id is already in progress",
                     NULL);
    } else {
        method->serve(request);
    }
    session_clear(&request->session);
}

static void take_notification(struct connection *connection, const struct rpc_message *message)
{
    const json_t *id = json_object_get(message->params, "requestId");
    if (strcmp(message->method, "notifications/cancelled") == 0 && id)
        call_cancel(connection->server, connection, id);
}

static void dispatch_message(struct connection *connection, struct batch *batch,
                             const json_t *message)
{
    struct request request = {connection, batch, rpc_read(message), {0}};
    switch (request.message.kind) {
    case RPC_REQUEST:
        batch_expect(batch);
        serve_request(&request);
        break;
    case RPC_NOTIFICATION:
        take_notification(connection, &request.message);
        break;
    case RPC_RESPONSE:
        call_take_response(connection->server, connection, request.message.id,
                           request.message.result);
        break;
    case RPC_INVALID:
        batch_expect(batch);
        answer_error(&request, RPC_INVALID_REQUEST, request.message.problem, NULL);
        break;
    }
}

static void dispatch_batch(struct connection *connection, const json_t *messages)
{
    bool allowed = connection->initialized &&
                   strcmp(connection->session.revision, SESSION_BATCHED_REVISION) == 0;
    size_t count = json_array_size(messages);
    struct batch *batch =
        allowed && count > 0 && count <= BATCH_MOST ? batch_new(connection) : NULL;
    if (!batch) {
        connection_answer(connection, NULL,
                          rpc_error(NULL, RPC_INVALID_REQUEST,
                                    "only revision 2025-03-26 has arrays of messages, and "
                                    "have 1 to 256",
                                    NULL));
        return;
    }
    size_t index = 0;
    const json_t *message = NULL;
    json_array_foreach(messages, index, message) dispatch_message(connection, batch, message);
    connection_answer(connection, batch, NULL);
}

static bool is_blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!strchr(" \t\r", line[i]) || line[i] == '\0')
            return false;
    }
    return true;
}

void dispatch_line(struct connection *connection, const char *line, size_t length)
{
    if (is_blank(line, length))
        return;
    struct incoming_problem problem;
    json_auto_t *message = incoming_read(line, length, &problem);
    if (!message)
        connection_answer(connection, NULL,
                          rpc_error(problem.id, problem.code, problem.message, NULL));
    else if (json_is_array(message))
        dispatch_batch(connection, message);
    else
        dispatch_message(connection, NULL, message);
    json_decref(problem.id);
}

void dispatch_too_long(struct connection *connection)
{
    connection_answer(connection, NULL,
                      rpc_error(NULL, RPC_INVALID_REQUEST, "the line is longer than 16 MiB", NULL));
}
