/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools that the official conformance suite of the Model Context Protocol calls, as a provider
 * of our ABI: nothing in it knows the protocol. What the suite wants a server to ask a person about
 * is an approval here. Any thread.
 */
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool_provider.h"

#define NO_INPUT    "\"input_schema\":{\"type\":\"object\",\"properties\":{}}"
#define PLAIN(name) "{\"name\":\"" name "\",\"description\":\"" name "\"," NO_INPUT "}"

static const char
    manifest
        [] = "{\"manifest_version\":1,\"provider\":\"conformance\",\"version\":"
             "\"1.0.0\",\"errors\":[],"
             "\"tools\":[" PLAIN(
                 "test_simple_text") "," PLAIN("test_image_"
                                               "content") "," PLAIN("test_audio_content") "," PLAIN("tes"
                                                                                                    "t_"
                                                                                                    "emb"
                                                                                                    "edd"
                                                                                                    "ed_"
                                                                                                    "res"
                                                                                                    "our"
                                                                                                    "ce") "," PLAIN("test_multiple_content_"
                                                                                                                    "types") "," PLAIN("test_"
                                                                                                                                       "error_"
                                                                                                                                       "handlin"
                                                                                                                                       "g") "," PLAIN("test_tool_with_progress") "," PLAIN("test_elicitation") "," PLAIN("test_missing_capability") "," PLAIN("test_streaming_elicitation") "," PLAIN("test_logging_tool") "," PLAIN("test_tool_with_logging") "," PLAIN("test_input_required_result_elicitation") "," PLAIN("test_input_required_result_request_state") "," PLAIN("test_input_required_result_multi_round") "," PLAIN("test_input_required_result_tampered_state") "," PLAIN("test_input_required_result_capabilities") ","
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "{\"name\":\"json_schema_2020_12_tool\",\"description\":\"A schema of the 2020-12 dialect\","
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "\"input_schema\":{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "\"type\":\"object\",\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\","
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "\"properties\":{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"}},"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}},"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "{\"name\":\"test_structured\",\"description\":\"A result with a schema\"," NO_INPUT
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         ","
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "\"output_schema\":{\"type\":\"object\",\"properties\":{\"answer\":{\"type\":\"integer\"}},"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "\"required\":[\"answer\"]}},"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "{\"name\":\"test_files\",\"description\":\"A small and a large file\"," NO_INPUT
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         ","
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "\"output_schema\":{\"type\":\"object\",\"properties\":{\"files\":{\"type\":\"array\"}}}}]}";

/* One red pixel, and a sound of no length. */
static const char png[] =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0g"
    "AAAABJRU5ErkJggg==";
static const char wav[] = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

static json_t *results(json_t *first)
{
    return json_pack("{s:[o]}", "results", first);
}

static json_t *text(const char *words)
{
    return json_pack("{s:s, s:s}", "type", "text", "text", words);
}

static json_t *bytes(const char *type, const char *mime_type, const char *data)
{
    return json_pack("{s:s, s:s, s:s}", "type", type, "mime_type", mime_type, "data", data);
}

static json_t *resource(const char *uri, const char *mime_type, const char *words)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "type", "resource", "uri", uri, "mime_type", mime_type,
                     "text", words);
}

static json_t *give_text(const struct tool_host *host)
{
    (void)host;
    return results(text("This is a simple text response for testing."));
}

static json_t *give_image(const struct tool_host *host)
{
    (void)host;
    return results(bytes("image", "image/png", png));
}

static json_t *give_sound(const struct tool_host *host)
{
    (void)host;
    return results(bytes("audio", "audio/wav", wav));
}

static json_t *give_resource(const struct tool_host *host)
{
    (void)host;
    return results(resource("test://embedded-resource", "text/plain",
                            "This is an embedded resource content."));
}

static json_t *give_all(const struct tool_host *host)
{
    (void)host;
    return json_pack("{s:[o, o, o]}", "results", text("Multiple content types test:"),
                     bytes("image", "image/png", png),
                     resource("test://mixed-content-resource", "application/json",
                              "{\"test\":\"data\",\"value\":123}"));
}

static json_t *refuse(const char *code, const char *message)
{
    return json_pack("{s:s, s:{s:s, s:s, s:s, s:b}}", "status", "error", "error", "code", code,
                     "message", message, "hint", "", "retryable", 0);
}

static json_t *fail(const struct tool_host *host)
{
    (void)host;
    return refuse("error", "This tool intentionally returns an error for testing");
}

/* The pieces are further apart than a host has to send them one by one. */
static json_t *take_steps(const struct tool_host *host)
{
    static const char *const steps[] = {"0 of 100\n", "50 of 100\n", "100 of 100\n"};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (host->on_output)
            host->on_output(host->user, TOOL_STREAM_PROGRESS, steps[i], strlen(steps[i]));
        (void)usleep(150000);
    }
    return results(text("three steps"));
}

static json_t *give_structure(const struct tool_host *host)
{
    (void)host;
    return json_pack("{s:i}", "answer", 42);
}

static json_t *give_files(const struct tool_host *host)
{
    (void)host;
    size_t length = 200000;
    char *large = malloc(length);
    if (!large)
        return NULL;
    memset(large, 'A', length); /* of Base64: zeros */
    json_t *output = json_pack("{s:[{s:s, s:s, s:s, s:i, s:s}, {s:s, s:s, s:i, s:s, s:s#}]}",
                               "files", "path", "note.txt", "content", "small", "encoding", "utf-8",
                               "size", 5, "mime_type", "text/plain", "path", "a b/large.bin",
                               "encoding", "base64", "size", (int)(length / 4 * 3), "mime_type",
                               "application/octet-stream", "content", large, length);
    free(large);
    return output;
}

/* Hosts that decide later call back under a token; nobody waits for them here. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_token;
static struct {
    uint64_t token;
    bool allowed;
} answers[64];

static bool ask(const struct tool_host *host, char digit, bool *ret_pending)
{
    char request[256], hash[65];
    uint32_t verdict = TOOL_VERDICT_DENY;
    memset(hash, digit, 64);
    hash[64] = '\0';
    (void)snprintf(request, sizeof(request),
                   "{\"tool\":\"conformance\",\"request_sha256\":\"%s\",\"expires_in_ms\":60000}",
                   hash);
    (void)pthread_mutex_lock(&lock);
    uint64_t token = ++last_token;
    size_t slot = token % 64;
    answers[slot].token = token;
    answers[slot].allowed = false;
    (void)pthread_mutex_unlock(&lock);
    if (host->request_approval)
        host->request_approval(host->user, token, request, &verdict);
    if (verdict == TOOL_VERDICT_PENDING)
        *ret_pending = true;
    (void)pthread_mutex_lock(&lock);
    bool allowed =
        verdict == TOOL_VERDICT_ALLOW || (answers[slot].token == token && answers[slot].allowed);
    answers[slot].token = 0;
    (void)pthread_mutex_unlock(&lock);
    return allowed;
}

static json_t *refuse_asked(bool pending)
{
    return pending ? refuse("approval_pending", "the approval waits")
                   : refuse("approval_denied", "the person said no");
}

static json_t *ask_once(const struct tool_host *host)
{
    bool pending = false;
    return ask(host, 'a', &pending) ? results(text("state-ok")) : refuse_asked(pending);
}

/* Two questions, one after the other; what was answered is not asked again. */
static json_t *ask_twice(const struct tool_host *host)
{
    static bool first_allowed;
    bool pending = false;
    if (!first_allowed && !ask(host, 'b', &pending))
        return refuse_asked(pending);
    first_allowed = true;
    if (!ask(host, 'c', &pending))
        return refuse_asked(pending);
    first_allowed = false;
    return results(text("both answered"));
}

/* The log is the operator's: none of it reaches a client. */
static json_t *write_log(const struct tool_host *host)
{
    if (host->log)
        host->log(host->user, TOOL_LOG_WARNING, "a line for the operator");
    return results(text("logged"));
}

static const struct {
    const char *name;
    json_t *(*run)(const struct tool_host *host);
} tools[] = {
    {"test_simple_text", give_text},
    {"test_image_content", give_image},
    {"test_audio_content", give_sound},
    {"test_embedded_resource", give_resource},
    {"test_multiple_content_types", give_all},
    {"test_error_handling", fail},
    {"test_tool_with_progress", take_steps},
    {"test_elicitation", ask_once},
    {"test_missing_capability", ask_once},
    {"test_streaming_elicitation", ask_once},
    {"test_logging_tool", write_log},
    {"test_tool_with_logging", write_log},
    {"test_input_required_result_elicitation", ask_once},
    {"test_input_required_result_request_state", ask_once},
    {"test_input_required_result_multi_round", ask_twice},
    {"test_input_required_result_tampered_state", ask_once},
    {"test_input_required_result_capabilities", ask_once},
    {"json_schema_2020_12_tool", give_text},
    {"test_structured", give_structure},
    {"test_files", give_files},
};

TOOL_EXPORT uint32_t tool_abi_version(void)
{
    return TOOL_ABI_VERSION;
}

TOOL_EXPORT const char *tool_manifest(void)
{
    return manifest;
}

TOOL_EXPORT int32_t tool_invoke(const char *tool, const char *input_json,
                                const struct tool_host *host, char **output_json)
{
    static const struct tool_host none = {0};
    json_t *output = NULL;
    (void)input_json;
    for (size_t i = 0; tool && i < sizeof(tools) / sizeof(tools[0]); i++) {
        if (strcmp(tools[i].name, tool) == 0)
            output = tools[i].run(host ? host : &none);
    }
    if (!output)
        output = refuse("unknown_tool", "no tool of that name");
    *output_json = json_dumps(output, JSON_COMPACT);
    int32_t status = json_object_get(output, "error") ? TOOL_NOT_RUN : TOOL_OK;
    json_decref(output);
    return *output_json ? status : TOOL_FAILED;
}

TOOL_EXPORT void tool_free(void *pointer)
{
    free(pointer);
}

TOOL_EXPORT int32_t tool_cancel(uint64_t call_id)
{
    (void)call_id;
    return TOOL_UNKNOWN;
}

TOOL_EXPORT int32_t tool_reply_approval(uint64_t token, const char *decision_json)
{
    json_t *decision = json_loads(decision_json, 0, NULL);
    const char *word = json_string_value(json_object_get(decision, "decision"));
    bool allow = word && strcmp(word, "allow_once") == 0;
    bool known = false;
    (void)pthread_mutex_lock(&lock);
    if (answers[token % 64].token == token) {
        known = true;
        answers[token % 64].allowed = allow;
    }
    (void)pthread_mutex_unlock(&lock);
    json_decref(decision);
    return known ? TOOL_ACCEPTED : TOOL_UNKNOWN;
}

TOOL_EXPORT int32_t tool_status(char **status_json)
{
    *status_json = strdup("{\"ready\":true}");
    return *status_json ? TOOL_OK : TOOL_FAILED;
}

TOOL_EXPORT void tool_shutdown(void)
{
}
