/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC 2.0 as the Model Context Protocol uses it: identifiers are texts or integers and never
 * null. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define RPC_PARSE_ERROR      (-32700)
#define RPC_INVALID_REQUEST  (-32600)
#define RPC_METHOD_NOT_FOUND (-32601)
#define RPC_INVALID_PARAMS   (-32602)
#define RPC_INTERNAL_ERROR   (-32603)
/* The Model Context Protocol's own. */
#define RPC_RESOURCE_NOT_FOUND   (-32002) /* up to 2025-11-25 */
#define RPC_CAPABILITY_MISSING   (-32021) /* from 2026-07-28 */
#define RPC_UNSUPPORTED_REVISION (-32022) /* from 2026-07-28 */

enum rpc_kind {
    RPC_REQUEST,
    RPC_NOTIFICATION,
    RPC_RESPONSE,
    RPC_INVALID,
};

/* Borrows from the message that it was read from. */
struct rpc_message {
    enum rpc_kind kind;
    const json_t *id;     /* NULL where there is none that could be answered */
    const char *method;   /* requests and notifications */
    const json_t *params; /* an object, or NULL */
    json_t *result;       /* responses: NULL for an error */
    const char *problem;  /* RPC_INVALID: what is wrong */
};

struct rpc_message rpc_read(const json_t *message);

#define INCOMING_VALUES 131072u /* in one line */

struct incoming_problem {
    int code;
    char message[256];
    json_t *id; /* new, or NULL */
};

/* A client's line as JSON, within bounds that are held before memory is spent on it. New; NULL with
 * the problem. What cannot be read is refused under its own identifier where that can be told, so
 * that the client need not wait for an answer that would never come. */
json_t *incoming_read(const char *line, size_t length, struct incoming_problem *ret_problem);

/* For a client: where a server's line that cannot be read, or only its beginning, names the request
 * that it answers. Within the line; NULL where it does not, names it twice, or is a request. */
const char *incoming_response_id(const char *line, size_t length, size_t *ret_length);

/* New messages; NULL when out of memory. id is copied, result, data and params are taken over. */
json_t *rpc_result(const json_t *id, json_t *result);
/* id NULL leaves it out, as the protocol's schema wants it; data may be NULL. */
json_t *rpc_error(const json_t *id, int code, const char *message, json_t *data);
json_t *rpc_notification(const char *method, json_t *params);
json_t *rpc_request(const char *id, const char *method, json_t *params);

bool rpc_same_id(const json_t *one, const json_t *other);
