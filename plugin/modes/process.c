/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modes process and none: one backend, which a run's description tells what to apply. Runs in the
 * gateway, on the thread inside tool_invoke(), tool_prepare() or tool_status().
 */
#include "call/call.h"
#include "modes/modes.h"
#include "run/remedy.h"
#include "json/json_text.h"

#define PROGRAM        "code-execute-process"
#define PROGRAM_REMEDY "reinstall code-execute: its programs must be next to code_execute.so"
#define GRACE_MS       2000

static void write_details(struct json_draft *draft, const struct call *call)
{
    const struct isolation_report *report = &call->outcome.ended.isolation;
    json_draft_integer(draft, "landlock_abi", report->landlock_abi);
    json_draft_integer(draft, "cgroup_version", report->cgroup_version);
    json_draft_boolean(draft, "cgroup_memory", report->cgroup_has_memory);
    json_draft_boolean(draft, "cgroup_pids", report->cgroup_has_pids);
    json_draft_integer(draft, "outer_uid", report->outer_uid);
    json_draft_boolean(draft, "network", call->request.network);
    json_draft_integer(draft, "seccomp_instructions", report->seccomp_instructions);
}

const struct sandbox_mode_row process_mode = {
    .name = "process",
    .program = PROGRAM,
    .program_remedy = PROGRAM_REMEDY,
    .grace_ms = GRACE_MS,
    .isolates = true,
    .mandatory_layers = LAYERS_MANDATORY,
    .needs = CAPABILITY_EXEC,
    .checked_in = SANDBOX_MODE_PROCESS,
    .shows_workspace = true,
    .prepares_interpreter = true,
    .pool_grows = true,
    .network = "the gateway's machine",
    .explain_layer = remedy_for_layer,
    .write_details = write_details,
};

const struct sandbox_mode_row none_mode = {
    .name = "none",
    .program = PROGRAM,
    .program_remedy = PROGRAM_REMEDY,
    .grace_ms = GRACE_MS,
    .needs = CAPABILITY_MODE_NONE,
    .not_allowed = "mode none isolates nothing: it needs a policy that lists it in \"modes\" and "
                   "the capability sandbox.exec.mode.none",
    .checked_in = SANDBOX_MODE_PROCESS,
    .network = "the gateway's machine",
    .explain_layer = remedy_for_layer,
};
