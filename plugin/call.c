/* SPDX-License-Identifier: Apache-2.0 */
/* A call's life, and the two views of it that leave the plugin before it runs. Runs on the thread
 * inside tool_invoke(). */
#include "call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cleanup.h"
#include "host.h"
#include "json_text.h"

#define NOTE_LIMIT 512

void call_init(struct call *call, const struct tool_host *host)
{
    *call = (struct call){.registration.cancel_fd = -1, .run.cancel_fd = -1, .run.stdin_fd = -1};
    host_copy(host, &call->host);
    call->notes = json_array();

    /* Unique names for runs, not a secret: without entropy the call still gets one, of zeroes. */
    unsigned char bytes[RUN_ID_LENGTH / 2] = {0};
    (void)!getrandom(bytes, sizeof(bytes), 0);
    hex_text(bytes, sizeof(bytes), call->run_id);
}

static void context_clear(struct call_context *context)
{
    free(context->principal);
    free(context->session);
    free(context->traceparent);
    free(context->workspace);
}

void call_clear(struct call *call)
{
    call_unregister(&call->registration);
    run_clear(&call->run);
    redaction_free(call->redaction);
    for (size_t i = 0; i < COUNT_OF(call->secrets); i++)
        secret_value_clear(&call->secrets[i]);
    run_description_clear(&call->description);
    if (call->parsed)
        request_clear(&call->request);
    configuration_clear(&call->configuration);
    context_clear(&call->context);
    json_decref(call->notes);
}

void call_note(struct call *call, const char *format, ...)
{
    char note[NOTE_LIMIT];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(note, sizeof(note), format, arguments);
    va_end(arguments);
    (void)json_array_append_new(call->notes, json_string(note));
}

static json_t *string_or_null(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

/* The four below are NULL when out of memory: what is approved is never a part of what runs. */
static json_t *strings_json(char *const *strings)
{
    json_auto_t *array = json_array();
    for (size_t i = 0; strings != NULL && strings[i] != NULL; i++)
        if (json_array_append_new(array, json_string(strings[i])) != 0)
            return NULL;
    return TAKE_POINTER(array);
}

static json_t *environment_json(char *const *environment)
{
    json_auto_t *object = json_object();
    for (size_t i = 0; environment[i] != NULL; i++) {
        const char *equals = strchr(environment[i], '=');
        if (json_object_setn_new(object, environment[i], (size_t)(equals - environment[i]),
                                 json_string(equals + 1)) != 0)
            return NULL;
    }
    return TAKE_POINTER(object);
}

static json_t *secrets_json(const struct request *request)
{
    json_auto_t *object = json_object();
    for (size_t i = 0; i < request->secret_count; i++)
        if (json_object_set_new(object, request->secrets[i].variable,
                                json_string(request->secrets[i].name)) != 0)
            return NULL;
    return TAKE_POINTER(object);
}

static json_t *files_json(const struct request *request)
{
    json_auto_t *array = json_array();
    for (size_t i = 0; i < request->file_count; i++) {
        const struct run_file *file = &request->files[i];
        char hash[SHA256_HEX_LENGTH + 1];
        sha256_hex(file->content, file->length, hash);
        json_t *entry = json_pack("{s:s, s:I, s:s}", "path", file->path, "size",
                                  (json_int_t)file->length, "sha256", hash);
        if (json_array_append_new(array, entry) != 0)
            return NULL;
    }
    return TAKE_POINTER(array);
}

json_t *call_limits(const struct call *call)
{
    const struct run_limits *limits = &call->description.limits;
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "wall_ms",
                     (json_int_t)limits->wall_ms, "cpu_ms", (json_int_t)limits->cpu_ms,
                     "memory_bytes", (json_int_t)limits->memory_bytes, "processes",
                     (json_int_t)limits->processes, "open_files", (json_int_t)limits->open_files,
                     "file_bytes", (json_int_t)limits->file_bytes, "scratch_bytes",
                     (json_int_t)limits->scratch_bytes, "scratch_inodes",
                     (json_int_t)limits->scratch_inodes, "stdout_bytes",
                     (json_int_t)call->stdout_limit, "stderr_bytes", (json_int_t)call->stderr_limit,
                     "output_total_bytes", (json_int_t)call->output_limit);
}

json_t *call_canonical_request(const struct call *call)
{
    const struct request *request = &call->request;
    json_t *stdin_value = request->stdin_text != NULL
                              ? json_stringn(request->stdin_text, request->stdin_length)
                              : json_null();
    /* In canonical order, which spares the writer the sorting. */
    return json_pack(
        "{s:o, s:s%, s:o, s:o, s:o, s:o, s:s, s:o, s:s, s:b, s:s, s:o, s:o, s:s, s:o}", "args",
        strings_json(request->args), "code", request->code, request->code_length, "environment",
        environment_json(request->environment), "files", files_json(request), "image",
        string_or_null(call->description.docker.image), "image_id",
        string_or_null(call->description.docker.image_id), "language", request->language->name,
        "limits", call_limits(call), "mode", sandbox_mode_name(call->configuration.mode), "network",
        (int)request->network, "policy_sha256", call->configuration.policy->sha256, "secrets",
        secrets_json(request), "stdin", stdin_value, "tool", "code_execute", "workspace",
        string_or_null(call->context.workspace));
}

char *call_approval_request(const struct call *call, const char *approval_id)
{
    const struct policy *policy = call->configuration.policy;
    json_auto_t *request = call_canonical_request(call);
    json_auto_t *more = json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:[sss]}", "tool", call->tool, "approval_id",
        approval_id, "run_id", call->run_id, "request_sha256", call->request_sha256,
        "expires_in_ms", (json_int_t)policy->approval_timeout_ms, "principal",
        string_or_null(call->context.principal), "session", string_or_null(call->context.session),
        "reason", string_or_null(call->request.reason), "allowed_decisions", "allow_once",
        "allow_session", "deny");
    if (request == NULL || more == NULL || json_object_update(request, more) != 0)
        return NULL;
    return json_text(request, JSON_ORDER_SORTED);
}
