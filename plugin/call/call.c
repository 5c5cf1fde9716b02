/* SPDX-License-Identifier: Apache-2.0 */
/* A call's life. Runs on the thread inside tool_invoke(). */
#include "call/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "call/context.h"
#include "host/host.h"

#define NOTE_LIMIT 512

void call_init(struct call *call, const struct tool_host *host)
{
    *call = (struct call){.registration.cancel_fd = -1,
                          .run.cancel_fd = -1,
                          .run.stdin_fd = -1,
                          .word.checkpoint = CHECKPOINT_WORD_COUNT,
                          .tool_calls = {.inbox = {.wake_fd = -1}},
                          .broker_run = BROKER_RUN_NONE,
                          .cell_endpoints = -1,
                          .workspace = WORKSPACE_NONE};
    call->host_mistake = host_copy(host, &call->host);
    call->notes = json_array();

    /* Unique names for runs, not a secret: without entropy the call still gets one, of zeroes. */
    unsigned char bytes[RUN_ID_LENGTH / 2] = {0};
    (void)!getrandom(bytes, sizeof(bytes), 0);
    hex_text(bytes, sizeof(bytes), call->run_id);
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
    call->endpoint_count = 0;
    call->environment = NULL;
    package_set_clear(&call->packages);
    call->content.stale = true;
    call->request_sha256[0] = '\0';
    (void)json_array_clear(call->notes);
    (void)json_array_extend(call->notes, call->request.notes);
}

/* A session keeps its own. */
static void drop_redaction(struct call *call)
{
    if (!call->session || call->session->redaction != call->redaction)
        redaction_free(call->redaction);
    call->redaction = NULL;
}

void call_clear(struct call *call)
{
    call_unregister(&call->registration);
    run_clear(&call->run);
    results_clear(&call->results);
    tool_calls_clear(&call->tool_calls);
    tool_flow_clear(&call->tool_flow);
    tool_list_clear(&call->tools);
    package_set_clear(&call->packages);
    broker_run_close(&call->broker_run);
    close_fd(TAKE_FD(call->cell_endpoints));
    network_log_clear(&call->network);
    for (size_t i = 0; i < COUNT_OF(call->late); i++)
        run_stream_clear(&call->late[i]);
    artifact_list_clear(&call->artifacts);
    drop_redaction(call);
    session_give_back(call->session);
    free(call->cells_grant);
    drop_request(call);
    free(call->approval.arguments);
    configuration_clear(&call->configuration);
    context_clear(&call->context);
    input_files_close(&call->inputs);
    workspace_close(&call->workspace);
    content_clear(&call->content);
    json_decref(call->notes);
}

size_t call_secrets(const struct call *call, const char *ret[REQUEST_SECRETS_LIMIT])
{
    const struct request *request = &call->request;
    size_t count = 0;
    const char *variable;
    json_t *name;
    for (size_t i = 0; i < request->secret_count; i++)
        ret[count++] = request->secrets[i].name;
    if (!call->session || count > 0) /* of a session only the first cell brings secrets */
        return count;
    json_object_foreach(call->session->secrets, variable, name) ret[count++] =
        json_string_value(name);
    return count;
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
