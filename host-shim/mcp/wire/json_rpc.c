/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and makes JSON-RPC messages. Pure code, any thread. */
#include "mcp/wire/json_rpc.h"

#include <string.h>

static bool is_id(const json_t *id)
{
    return json_is_string(id) || json_is_integer(id);
}

static struct rpc_message invalid(const json_t *id, const char *problem)
{
    return (struct rpc_message){
        .kind = RPC_INVALID, .id = is_id(id) ? id : NULL, .problem = problem};
}

static struct rpc_message read_response(const json_t *message, const json_t *id)
{
    json_t *result = json_object_get(message, "result");
    const json_t *error = json_object_get(message, "error");
    if ((result != NULL) == (error != NULL))
        return invalid(NULL, "neither a request nor a response");
    return (struct rpc_message){
        .kind = RPC_RESPONSE, .id = is_id(id) ? id : NULL, .result = result};
}

struct rpc_message rpc_read(const json_t *message)
{
    const json_t *id = json_object_get(message, "id");
    const json_t *method = json_object_get(message, "method");
    const json_t *params = json_object_get(message, "params");
    const char *revision = json_string_value(json_object_get(message, "jsonrpc"));
    if (!json_is_object(message))
        return invalid(NULL, "a message must be an object");
    if (!revision || strcmp(revision, "2.0") != 0)
        return invalid(id, "jsonrpc must be \"2.0\"");
    if (!method)
        return read_response(message, id);
    if (!json_is_string(method) || strlen(json_string_value(method)) != json_string_length(method))
        return invalid(id, "method must be a string without NUL");
    if (id && !is_id(id))
        return invalid(NULL, "id must be a string or an integer");
    if (params && !json_is_object(params))
        return invalid(id, "params must be an object");
    return (struct rpc_message){.kind = id ? RPC_REQUEST : RPC_NOTIFICATION,
                                .id = id,
                                .method = json_string_value(method),
                                .params = params};
}

json_t *rpc_result(const json_t *id, json_t *result)
{
    return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", json_deep_copy(id), "result",
                     result);
}

json_t *rpc_error(const json_t *id, int code, const char *message, json_t *data)
{
    return json_pack("{s:s, s:o*, s:{s:i, s:s, s:o*}}", "jsonrpc", "2.0", "id",
                     id ? json_deep_copy(id) : NULL, "error", "code", code, "message", message,
                     "data", data);
}

json_t *rpc_notification(const char *method, json_t *params)
{
    return json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params);
}

json_t *rpc_request(const char *id, const char *method, json_t *params)
{
    return json_pack("{s:s, s:s, s:s, s:o}", "jsonrpc", "2.0", "id", id, "method", method, "params",
                     params);
}

bool rpc_same_id(const json_t *one, const json_t *other)
{
    return one && other && json_equal(one, other) == 1;
}
