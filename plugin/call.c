/* SPDX-License-Identifier: Apache-2.0 */
/* A call's life, and the two views of it that leave the plugin before it runs. Runs on the thread
 * inside tool_invoke(). */
#include "call.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base64.h"
#include "cleanup.h"
#include "environment.h"
#include "host.h"
#include "json_text.h"
#include "request_arguments.h"
#include "utf8.h"

#define NOTE_LIMIT 512

void call_init(struct call *call, const struct tool_host *host)
{
    *call = (struct call){.registration.cancel_fd = -1,
                          .run.cancel_fd = -1,
                          .run.stdin_fd = -1,
                          .workspace = WORKSPACE_NONE};
    call->host_mistake = host_copy(host, &call->host);
    call->notes = json_array();

    /* Unique names for runs, not a secret: without entropy the call still gets one, of zeroes. */
    unsigned char bytes[RUN_ID_LENGTH / 2] = {0};
    (void)!getrandom(bytes, sizeof(bytes), 0);
    hex_text(bytes, sizeof(bytes), call->run_id);
}

void call_context_clear(struct call_context *context)
{
    free(context->principal);
    free(context->session);
    free(context->traceparent);
    free(context->workspace);
    narrowing_clear(&context->narrowing);
}

static void drop_request(struct call *call)
{
    run_description_clear(&call->description);
    if (call->parsed)
        request_clear(&call->request);
}

void call_replace_request(struct call *call, struct request *request)
{
    drop_request(call);
    call->request = *request;
    *request = (struct request){0};
    call->language = NULL;
    call->content.stale = true;
    call->request_sha256[0] = '\0';
    (void)json_array_clear(call->notes);
    (void)json_array_extend(call->notes, call->request.notes);
}

void call_clear(struct call *call)
{
    call_unregister(&call->registration);
    run_clear(&call->run);
    redaction_free(call->redaction);
    drop_request(call);
    free(call->approval.arguments);
    configuration_clear(&call->configuration);
    call_context_clear(&call->context);
    workspace_close(&call->workspace);
    content_clear(&call->content);
    json_decref(call->notes);
}

void call_note(struct call *call, const char *format, ...)
{
    char note[NOTE_LIMIT];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(note, sizeof(note), format, arguments);
    va_end(arguments);
    utf8_end_whole(note);
    (void)json_array_append_new(call->notes, json_string(note));
}

/* NULL when out of memory: what is approved is never a part of what runs. */
static json_t *secrets_json(const struct request *request)
{
    json_auto_t *object = json_object();
    for (size_t i = 0; i < request->secret_count; i++)
        if (json_object_set_new(object, request->secrets[i].variable,
                                json_string(request->secrets[i].name)) != 0)
            return NULL;
    return TAKE_POINTER(object);
}

static void write_arguments(struct json_draft *draft, char *const *arguments)
{
    json_draft_open(draft, "args", '[');
    for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++)
        json_draft_string(draft, NULL, arguments[i]);
    json_draft_close(draft, ']');
}

static void write_content(struct json_draft *draft, const struct run_file *file)
{
    CLEANUP_FREE char *content = base64_encode(file->content, file->length);
    if (content == NULL)
        json_draft_value(draft, "content_base64", NULL);
    else
        json_draft_string(draft, "content_base64", content);
}

static void write_files(struct json_draft *draft, const struct request *request, bool content)
{
    json_draft_open(draft, "files", '[');
    for (size_t i = 0; i < request->file_count; i++) {
        const struct run_file *file = &request->files[i];
        char hash[SHA256_HEX_LENGTH + 1];
        sha256_hex(file->content, file->length, hash);
        json_draft_open(draft, NULL, '{');
        if (content)
            write_content(draft, file);
        json_draft_string(draft, "path", file->path);
        json_draft_string(draft, "sha256", hash);
        json_draft_integer(draft, "size", (int64_t)file->length);
        json_draft_close(draft, '}');
    }
    json_draft_close(draft, ']');
}

struct limit {
    const char *name;
    uint64_t value;
};

static int compare_limits(const void *left, const void *right)
{
    return strcmp(((const struct limit *)left)->name, ((const struct limit *)right)->name);
}

const struct policy_limit *call_wall_limit(const struct call *call,
                                           const struct policy_limits *limits)
{
    return call->request.shape == REQUEST_SANDBOX_EXEC ? &limits->sandbox_exec_wall_ms
                                                       : &limits->wall_ms;
}

uint64_t call_usual_wall_ms(const struct call *call)
{
    return call_wall_limit(call, &call->limits)->default_value;
}

void call_write_limits(struct json_draft *draft, const struct call *call)
{
    const struct run_limits *of_run = &call->description.limits;
    struct limit limits[] = {
        {"wall_ms", of_run->wall_ms},
        {"cpu_ms", of_run->cpu_ms},
        {"memory_bytes", of_run->memory_bytes},
        {"processes", of_run->processes},
        {"open_files", of_run->open_files},
        {"file_bytes", of_run->file_bytes},
        {"scratch_bytes", of_run->scratch_bytes},
        {"scratch_inodes", of_run->scratch_inodes},
        {"stdout_bytes", call->stdout_limit},
        {"stderr_bytes", call->stderr_limit},
        {"output_total_bytes", call->output_limit},
    };
    if (draft->order == JSON_ORDER_SORTED)
        qsort(limits, COUNT_OF(limits), sizeof(limits[0]), compare_limits);
    json_draft_open(draft, "limits", '{');
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        json_draft_integer(draft, limits[i].name, (int64_t)limits[i].value);
    json_draft_close(draft, '}');
}

/* As a text: a JSON number has 53 bits for certain, an inode 64. */
static void write_workspace(struct json_draft *draft, const struct call *call)
{
    const struct directory_id *id = &call->description.workspace_id;
    char text[48];
    json_draft_string(draft, "workspace", call->context.workspace);
    if (call->context.workspace == NULL)
        return;
    (void)snprintf(text, sizeof(text), "%" PRIu64 ":%" PRIu64, id->device, id->inode);
    json_draft_string(draft, "workspace_id", text);
}

/* The members in canonical order. Made and hashed twice a call, so not by way of a value. content:
 * the files' own beside their hashes. */
static void write_request(struct json_draft *draft, const struct call *call, const char *tool,
                          bool content)
{
    const struct request *request = &call->request;
    write_arguments(draft, request->args);
    json_draft_bytes(draft, "code", request->code, request->code_length);
    json_draft_value(draft, "environment", environment_json(request->environment));
    write_files(draft, request, content);
    json_draft_string(draft, "image", call->description.docker.image);
    json_draft_string(draft, "image_id", call->description.docker.image_id);
    json_draft_string(draft, "language", request->language->name);
    call_write_limits(draft, call);
    json_draft_string(draft, "mode", sandbox_mode_name(call->configuration.mode));
    if (call->context.narrowing.json != NULL)
        json_draft_value(draft, "narrowing", narrowing_json(&call->context.narrowing));
    json_draft_boolean(draft, "network", request->network);
    json_draft_string(draft, "policy_base_sha256", call->configuration.policy->base_sha256);
    json_draft_value(draft, "secrets", secrets_json(request));
    if (request->stdin_text != NULL)
        json_draft_bytes(draft, "stdin", request->stdin_text, request->stdin_length);
    else
        json_draft_string(draft, "stdin", NULL);
    json_draft_string(draft, "tool", tool);
    write_workspace(draft, call);
}

char *call_canonical_request(const struct call *call, size_t *ret_length)
{
    struct json_draft draft = {.order = JSON_ORDER_SORTED};
    json_draft_open(&draft, NULL, '{');
    write_request(&draft, call, "code_execute", false);
    json_draft_close(&draft, '}');
    return json_draft_take(&draft, ret_length);
}

char *call_content_question(const struct call *call, size_t *ret_length)
{
    struct json_draft draft = {.order = JSON_ORDER_SORTED};
    json_draft_open(&draft, NULL, '{');
    write_request(&draft, call, call->tool, true);
    json_draft_string(&draft, "policy_sha256", call->configuration.policy->sha256);
    json_draft_string(&draft, "principal", call->context.principal);
    json_draft_string(&draft, "reason", call->request.reason);
    json_draft_string(&draft, "request_sha256", call->request_sha256);
    json_draft_string(&draft, "session", call->context.session);
    json_draft_close(&draft, '}');
    return json_draft_take(&draft, ret_length);
}

bool call_hash_request(const struct call *call, char ret[SHA256_HEX_LENGTH + 1])
{
    size_t length = 0;
    CLEANUP_FREE char *text = call_canonical_request(call, &length);
    if (text == NULL)
        return false;
    sha256_hex(text, length, ret);
    return true;
}

static_assert(APPROVER_ONCE == APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_ALLOW_ONCE) &&
                  APPROVER_SESSION == APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_ALLOW_SESSION) &&
                  APPROVER_ALWAYS == APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_ALLOW_ALWAYS) &&
                  APPROVER_DENY == APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_DENY) &&
                  APPROVER_EDIT == APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_EDIT),
              "the policy's decisions are the approver's answers");

/* What is in a workspace is not in the request's hash, so nothing stands for what it holds later.
 */
unsigned call_approval_answers(const struct call *call)
{
    static const unsigned standing = APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_ALLOW_SESSION) |
                                     APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_ALLOW_ALWAYS);
    unsigned answers = call->configuration.policy->approver_decisions |
                       APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_CANCEL);
    return call->context.workspace != NULL ? answers & ~standing : answers;
}

char *call_approval_request(const struct call *call, const char *approval_id)
{
    struct json_draft draft = {.order = JSON_ORDER_SORTED};
    size_t length = 0;
    json_draft_open(&draft, NULL, '{');
    write_request(&draft, call, call->tool, false);
    json_draft_string(&draft, "policy_sha256", call->configuration.policy->sha256);
    json_draft_string(&draft, "approval_id", approval_id);
    json_draft_string(&draft, "run_id", call->run_id);
    json_draft_string(&draft, "request_sha256", call->request_sha256);
    json_draft_integer(&draft, "expires_in_ms",
                       (int64_t)call->configuration.policy->approval_timeout_ms);
    json_draft_boolean(&draft, "in_band", call->configuration.policy->approval_in_band);
    json_draft_string(&draft, "principal", call->context.principal);
    json_draft_string(&draft, "session", call->context.session);
    json_draft_string(&draft, "reason", call->request.reason);
    content_write(&draft, call);
    json_draft_value(&draft, "arguments", request_arguments(&call->request));
    json_draft_open(&draft, "allowed_decisions", '[');
    for (int answer = 0; answer < APPROVAL_ANSWER_COUNT; answer++)
        if ((call_approval_answers(call) & APPROVAL_ANSWER_BIT(answer)) != 0)
            json_draft_string(&draft, NULL, approval_answer_name((enum approval_answer)answer));
    json_draft_close(&draft, ']');
    json_draft_open(&draft, "decision_members", '[');
    for (size_t i = 0; approval_decision_members()[i] != NULL; i++)
        json_draft_string(&draft, NULL, approval_decision_members()[i]);
    json_draft_close(&draft, ']');
    json_draft_close(&draft, '}');
    return json_draft_take(&draft, &length);
}
