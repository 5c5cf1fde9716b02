/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exports of the ABI: each a thin shell around the part that does it. Contracts are in
 * tool_provider.h. Runs in the gateway, on whichever thread calls.
 */
#include "tool_provider.h"

#include <stdlib.h>
#include <string.h>

#include "admission/process_owner.h"
#include "approval/approval.h"
#include "base/cleanup.h"
#include "call/call.h"
#include "call/call_registry.h"
#include "endpoints/broker_client.h"
#include "exports/manifest.h"
#include "exports/prepare_query.h"
#include "exports/status.h"
#include "gate/gate.h"
#include "packages/package_set.h"
#include "policy/configuration.h"
#include "result/result.h"
#include "run/backend_client.h"
#include "run/readiness.h"
#include "session/session.h"
#include "tools/tool_inbox.h"

/* Of its parent's state, a child of fork() keeps only the configuration. */
static void start_anew(void)
{
    call_registry_after_fork();
    session_after_fork();
    admission_after_fork();
    approval_after_fork();
    backend_after_fork();
    broker_after_fork();
    readiness_after_fork();
    package_set_after_fork();
    configuration_after_fork();
    manifest_after_fork();
    tool_inbox_after_fork();
    status_after_fork();
}

static void enter(void)
{
    process_owner_enter(start_anew);
}

uint32_t tool_abi_version(void)
{
    return TOOL_ABI_VERSION;
}

const char *tool_manifest(void)
{
    enter();
    return manifest_text();
}

int32_t tool_invoke(const char *tool, const char *input_json, const struct tool_host *host,
                    char **output_json)
{
    if (!output_json)
        return TOOL_FAILED;
    *output_json = NULL;
    enter();
    /* On the heap: a host's thread may have a small stack. */
    struct call *call = calloc(1, sizeof(*call));
    if (!call)
        return TOOL_FAILED;
    struct error error;
    call_init(call, host);
    bool ran = gate_pass(call, tool, input_json, &error);
    bool began = call->executed; /* a run that was ended before its program began did not run */
    const struct run_event ended = call->outcome.ended;
    char *text = result_text(call, ran ? NULL : &error);
    call_clear(call);
    free(call);
    status_count_call(began ? &ended : NULL, ran ? NULL : &error);
    if (!text)
        return TOOL_FAILED;
    *output_json = text;
    return began ? TOOL_OK : TOOL_NOT_RUN;
}

void tool_free(void *pointer)
{
    free(pointer);
}

int32_t tool_cancel(uint64_t call_id)
{
    enter();
    return call_cancel(call_id) ? TOOL_ACCEPTED : TOOL_UNKNOWN;
}

int32_t tool_reply_approval(uint64_t token, const char *decision_json)
{
    enter();
    int32_t taken = approval_reply(token, decision_json);
    /* A call of a tool can need an approval of its own. */
    if (taken == TOOL_UNKNOWN && decision_json)
        taken = tool_inbox_reply(TOKEN_OF_APPROVAL, token, decision_json,
                                 strnlen(decision_json, APPROVAL_DECISION_BYTES_LIMIT + 1));
    return taken;
}

int32_t tool_reply_call(uint64_t token, const char *reply_json, size_t length)
{
    enter();
    return tool_inbox_reply(TOKEN_OF_TOOL_CALL, token, reply_json, length);
}

int32_t tool_end_session(const char *session_id)
{
    enter();
    if (!session_id || !session_end(session_id, call_cancel_one))
        return TOOL_UNKNOWN;
    call_wake_cancelled();
    return TOOL_ACCEPTED;
}

static int32_t answer_query(const char *config_json, char **status_json)
{
    bool answered = false;
    char *text = prepare_query_answer(config_json, &answered);
    if (!text)
        return TOOL_FAILED;
    if (status_json)
        *status_json = TAKE_POINTER(text);
    free(text);
    return answered ? TOOL_OK : TOOL_NOT_RUN;
}

int32_t tool_prepare(const char *config_json, char **status_json)
{
    if (status_json)
        *status_json = NULL;
    enter();
    if (prepare_query_is_one(config_json))
        return answer_query(config_json, status_json);
    struct error error;
    bool sweep = false;
    bool accepted = configuration_prepare(config_json, &sweep, &error);
    if (accepted)
        readiness_forget();
    if (status_json || sweep) {
        char *text = status_text(accepted ? NULL : &error, sweep);
        if (!text)
            return TOOL_FAILED;
        if (status_json)
            *status_json = TAKE_POINTER(text);
        free(text);
    }
    return accepted ? TOOL_OK : TOOL_NOT_RUN;
}

int32_t tool_status(char **status_json)
{
    if (!status_json)
        return TOOL_FAILED;
    enter();
    *status_json = status_text(NULL, false);
    return *status_json ? TOOL_OK : TOOL_FAILED;
}

void tool_shutdown(void)
{
    enter();
    call_cancel_all_and_wait();
    session_end_all();
    backend_stop_all();
    broker_stop();
    approval_forget_all();
    readiness_forget();
    package_set_forget();
    configuration_forget();
    call_admit_again();
}

__attribute__((destructor)) static void unload(void)
{
    tool_shutdown();
    manifest_release();
    process_owner_release();
}
