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
#include "mcp/offer.h"
#include "mcp/result/envelope.h"
#include "mcp/result/resource.h"
#include "mcp/server.h"
#include "mcp/wire/json_rpc.h"

#define HANDSHAKE 1u
#define MODERN    2u
#define BOTH      (HANDSHAKE | MODERN)

#define CACHED_MS \
    300000 /* the configuration lasts as long as the process, and files do not change */
#define CHANGING_MS 1000 /* what follows other servers: no client of MODERN is told of changes */
#define BATCH_MOST  256u /* messages in an array */

struct request {
    struct connection *connection;
    struct batch *batch;
    struct rpc_message message;
    struct session_revision session;
    bool call_answers; /* a call was started, and will answer on its own thread */
};

static json_t *make_error(const struct request *request, int code, const char *text, json_t *data)
{
    return rpc_error(request->message.id, code, text, data);
}

static json_t *make_complete(const struct request *request, json_t *result)
{
    return envelope_complete(&request->connection->server->catalogue, request->message.id,
                             &request->session, result);
}

static json_t *make_cacheable(const struct request *request, json_t *result)
{
    return envelope_cacheable(&request->connection->server->catalogue, request->message.id,
                              &request->session, CACHED_MS, result);
}

static json_t *capabilities_of(const struct server *server, const struct session_revision *session)
{
    json_t *capabilities = json_pack("{s:{}, s:{}}", "tools", "resources");
    if (!session->modern)
        (void)json_object_set_new(capabilities, "logging", json_object());
    if (!session->modern && offer_may_change(server))
        (void)json_object_set_new(json_object_get(capabilities, "tools"), "listChanged",
                                  json_true());
    return capabilities;
}

static json_t *initialize(struct request *request)
{
    struct connection *connection = request->connection;
    if (!json_is_string(json_object_get(request->message.params, "protocolVersion")))
        return make_error(request, RPC_INVALID_PARAMS, "initialize has no protocolVersion",
                          json_pack("{s:o}", "supported", session_supported_revisions()));
    session_clear(&connection->session);
    session_read_handshake(request->message.params, &connection->session);
    connection->initialized = true;
    request->session = connection->session;
    return make_complete(
        request,
        json_pack("{s:s, s:o, s:o, s:O*}", "protocolVersion", connection->session.revision,
                  "capabilities", capabilities_of(connection->server, &connection->session),
                  "serverInfo", envelope_server_info(&connection->server->catalogue),
                  "instructions", connection->server->catalogue.instructions));
}

static json_t *discover(struct request *request)
{
    return make_cacheable(
        request,
        json_pack("{s:o, s:o, s:O*}", "supportedVersions", session_supported_revisions(),
                  "capabilities", capabilities_of(request->connection->server, &request->session),
                  "instructions", request->connection->server->catalogue.instructions));
}

static json_t *make_empty(struct request *request)
{
    return make_complete(request, json_object());
}

/* The protocol's own log stays empty: everything goes to standard error. */
static json_t *set_level(struct request *request)
{
    static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                         "error", "critical", "alert",  "emergency"};
    const char *level = json_member_string(request->message.params, "level", "");
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        if (strcmp(levels[i], level) == 0)
            return make_empty(request);
    }
    return make_error(request, RPC_INVALID_PARAMS, "no such level", NULL);
}

/* These lists have one page, so none has been given a cursor. The list (new) is taken over. */
static json_t *make_list(struct request *request, int cached_ms, json_t *list)
{
    if (!json_object_get(request->message.params, "cursor"))
        return envelope_cacheable(&request->connection->server->catalogue, request->message.id,
                                  &request->session, cached_ms, list);
    json_decref(list);
    return make_error(request, RPC_INVALID_PARAMS, "no such cursor: the list has one page", NULL);
}

static json_t *list_tools(struct request *request)
{
    struct connection *connection = request->connection;
    const struct server *server = connection->server;
    connection->has_listed |= !request->session.modern;
    return make_list(request, offer_may_change(server) ? CHANGING_MS : CACHED_MS,
                     json_pack("{s:O}", "tools", server->catalogue.tools));
}

static json_t *make_unknown_tool(const struct request *request, const char *name)
{
    static const int shown = 128;
    char text[192];
    (void)snprintf(text, sizeof(text), "Unknown tool: %.*s", shown, name);
    json_t *message = make_error(request, RPC_INVALID_PARAMS, text, NULL);
    /* a name that was cut inside a character */
    return message ? message : make_error(request, RPC_INVALID_PARAMS, "Unknown tool", NULL);
}

static json_t *call_tool(struct request *request)
{
    struct connection *connection = request->connection;
    const json_t *params = request->message.params;
    const json_t *name_value = json_object_get(params, "name");
    const char *name = json_c_string(name_value);
    const json_t *given = json_object_get(params, "arguments");
    const json_t *tool = name ? catalogue_find(&connection->server->catalogue, name) : NULL;
    if (!json_is_string(name_value))
        return make_error(request, RPC_INVALID_PARAMS, "name is missing", NULL);
    if (given && !json_is_object(given))
        return make_error(request, RPC_INVALID_PARAMS, "arguments must be an object", NULL);
    if (!tool)
        return make_unknown_tool(request, json_string_value(name_value));
    json_auto_t *none = json_object();
    struct call_order order = {.id = request->message.id,
                               .tool = tool,
                               .name = name,
                               .arguments = given ? given : none,
                               .session = &request->session,
                               .batch = request->batch};
    char digest[65];
    json_t *reply = NULL;
    if (!call_digest(name, order.arguments, digest))
        return make_error(request, RPC_INTERNAL_ERROR, "out of memory", NULL);
    if (!request->session.modern ||
        in_band_read_try(connection, request->message.id, params, &request->session, digest,
                         &order.answer, &reply)) {
        request->call_answers = true;
        call_start(connection, &order);
    }
    in_band_answer_clear(&order.answer);
    return reply;
}

/* Each call adds to them, so this list is never cached. */
static json_t *list_resources(struct request *request)
{
    struct connection *connection = request->connection;
    struct failure failure;
    json_t *page =
        resource_list_page(&connection->resources, connection->server->grants->grants.artifacts,
                           json_object_get(request->message.params, "cursor"), &failure);
    if (page)
        return envelope_cacheable(&connection->server->catalogue, request->message.id,
                                  &request->session, 0, page);
    bool is_cursor = strcmp(failure.code, "unknown_cursor") == 0;
    return make_error(request, is_cursor ? RPC_INVALID_PARAMS : RPC_INTERNAL_ERROR, failure.message,
                      NULL);
}

static json_t *list_templates(struct request *request)
{
    return make_list(request, CACHED_MS, json_pack("{s:[]}", "resourceTemplates"));
}

static json_t *read_resource(struct request *request)
{
    json_t *uri = json_object_get(request->message.params, "uri");
    if (!json_is_string(uri))
        return make_error(request, RPC_INVALID_PARAMS, "uri is missing", NULL);
    struct failure failure;
    json_t *contents = resource_contents(request->connection->server->grants->grants.artifacts,
                                         json_string_value(uri), &failure);
    if (contents)
        return make_cacheable(request, json_pack("{s:o}", "contents", contents));
    bool is_there = strcmp(failure.code, "unknown_file") != 0;
    return make_error(
        request, is_there || request->session.modern ? RPC_INVALID_PARAMS : RPC_RESOURCE_NOT_FOUND,
        is_there ? failure.message : "Resource not found", json_pack("{s:O}", "uri", uri));
}

struct method {
    const char *name;
    unsigned eras;
    json_t *(*serve)(struct request *request); /* the answer, new */
};

static const struct method methods[] = {
    {"initialize", HANDSHAKE, initialize},      {"ping", HANDSHAKE, make_empty},
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

/* false: the request is refused, by *ret_error. */
static bool read_session(struct request *request, json_t **ret_error)
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
    *ret_error = make_error(request, problem.code, problem.message, problem.data);
    return false;
}

static json_t *serve_request(struct request *request)
{
    json_t *error = NULL;
    if (!read_session(request, &error))
        return error;
    const struct method *method = find_method(request);
    if (!method)
        return make_error(request, RPC_METHOD_NOT_FOUND, "Method not found", NULL);
    if (call_is_known(request->connection->server, request->connection, request->message.id))
        return make_error(request, RPC_INVALID_REQUEST,
                          "a request with this id is already in progress", NULL);
    return method->serve(request);
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
    struct request request = {
        .connection = connection, .batch = batch, .message = rpc_read(message)};
    const struct rpc_message *read = &request.message;
    if (read->kind == RPC_NOTIFICATION) {
        take_notification(connection, read);
    } else if (read->kind == RPC_RESPONSE) {
        call_take_response(connection->server, connection, read->id, read->result);
    } else {
        batch_expect(batch);
        json_t *answer = read->kind == RPC_REQUEST
                             ? serve_request(&request)
                             : make_error(&request, RPC_INVALID_REQUEST, read->problem, NULL);
        if (!request.call_answers)
            connection_answer(connection, batch, answer);
        session_clear(&request.session);
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
