/* SPDX-License-Identifier: Apache-2.0 */
/* Reads revision and capabilities from requests and handshakes. Pure code, any thread. */
#include "mcp/wire/session_revision.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/wire/json_rpc.h"

#define META_REVISION     "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT       "io.modelcontextprotocol/clientInfo"

static const char *const handshake_revisions[] = {"2025-11-25", "2025-06-18",
                                                  SESSION_BATCHED_REVISION, "2024-11-05"};

json_t *session_supported_revisions(void)
{
    json_auto_t *list = json_pack("[s]", SESSION_MODERN_REVISION);
    for (size_t i = 0; i < COUNT_OF(handshake_revisions); i++) {
        if (json_array_append_new(list, json_string(handshake_revisions[i])) != 0)
            return NULL;
    }
    return TAKE_POINTER(list);
}

bool session_is_at_least(const struct session_revision *session, const char *revision)
{
    return strcmp(session->revision, revision) >= 0;
}

static const json_t *meta_of(const json_t *params)
{
    return json_object_get(params, "_meta");
}

bool session_is_modern(const json_t *params)
{
    return json_object_get(meta_of(params), META_REVISION) != NULL;
}

/* An empty object stands for the form, as it did before there was another kind. */
static bool can_show_form(const json_t *capabilities)
{
    const json_t *elicitation = json_object_get(capabilities, "elicitation");
    return json_is_object(elicitation) &&
           (json_object_size(elicitation) == 0 || json_object_get(elicitation, "form"));
}

static void read_client(const json_t *info, struct session_revision *session)
{
    const char *name = json_member_string(info, "name", "unnamed client");
    size_t used = 0;
    for (; *name && used + 1 < sizeof(session->client); name++)
        session->client[used++] = (char)(*name > ' ' && *name < 0x7f ? *name : '_');
    session->client[used] = '\0';
}

/* Only what W3C Trace Context allows goes on to the provider and into the audit log. */
static void read_traceparent(const json_t *meta, struct session_revision *session)
{
    static const char form[] = "00-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh";
    const char *text = json_member_string(meta, "traceparent", "");
    size_t length = strlen(form);
    if (strlen(text) != length)
        return;
    for (size_t i = 0; i < length; i++) {
        bool fits = form[i] == 'h' ? strchr(ASCII_LOWER_HEX, text[i]) != NULL : text[i] == form[i];
        if (!fits)
            return;
    }
    memcpy(session->traceparent, text, length + 1);
}

static void read_common(const json_t *params, struct session_revision *session)
{
    const json_t *meta = meta_of(params);
    const json_t *token = json_object_get(meta, "progressToken");
    if (json_is_string(token) || json_is_integer(token))
        session->progress_token = json_deep_copy(token);
    read_traceparent(meta, session);
}

static bool refuse_request(struct session_problem *problem, int code, const char *message,
                           json_t *data)
{
    problem->code = code;
    (void)snprintf(problem->message, sizeof(problem->message), "%s", message);
    problem->data = data;
    return false;
}

bool session_read_modern(const json_t *params, struct session_revision *ret,
                         struct session_problem *problem)
{
    const json_t *meta = meta_of(params);
    const char *revision = json_string_value(json_object_get(meta, META_REVISION));
    const json_t *capabilities = json_object_get(meta, META_CAPABILITIES);
    if (!revision)
        return refuse_request(problem, RPC_INVALID_PARAMS,
                              "_meta lacks \"" META_REVISION
                              "\" (or open with initialize: revisions up to "
                              "2025-11-25 begin with it)",
                              NULL);
    if (strcmp(revision, SESSION_MODERN_REVISION) != 0)
        return refuse_request(problem, RPC_UNSUPPORTED_REVISION, "unsupported protocol version",
                              json_pack("{s:o, s:s}", "supported", session_supported_revisions(),
                                        "requested", revision));
    if (!json_is_object(capabilities))
        return refuse_request(problem, RPC_INVALID_PARAMS, "_meta lacks \"" META_CAPABILITIES "\"",
                              NULL);
    *ret = (struct session_revision){.modern = true, .revision = SESSION_MODERN_REVISION};
    ret->elicitation = can_show_form(capabilities);
    read_client(json_object_get(meta, META_CLIENT), ret);
    read_common(params, ret);
    return true;
}

void session_read_handshake(const json_t *params, struct session_revision *ret)
{
    const char *wanted = json_member_string(params, "protocolVersion", "");
    *ret = (struct session_revision){.revision = handshake_revisions[0]};
    for (size_t i = 0; i < COUNT_OF(handshake_revisions); i++) {
        if (strcmp(handshake_revisions[i], wanted) == 0)
            ret->revision = handshake_revisions[i];
    }
    ret->elicitation = can_show_form(json_object_get(params, "capabilities"));
    read_client(json_object_get(params, "clientInfo"), ret);
}

void session_read_request(const struct session_revision *connection, const json_t *params,
                          struct session_revision *ret)
{
    *ret = *connection;
    ret->progress_token = NULL;
    read_common(params, ret);
}

void session_clear(struct session_revision *session)
{
    json_decref(TAKE_POINTER(session->progress_token));
}
