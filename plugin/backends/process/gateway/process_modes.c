/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of modes process and none: one backend, which applies what a run's description asks for.
 * Runs in the gateway, on the thread inside tool_invoke(), tool_prepare() or tool_status().
 */
#include <errno.h>

#include "backends/process/gateway/process_modes.h"
#include "backends/process/messages/layer_remedies.h"
#include "call/call.h"
#include "vocabulary/sandbox_mode.h"
#include "json/json_text.h"

static const char *remedy_for_workspace(int error_number)
{
    if (error_number == EACCES)
        return "let every user search the directories that lead to the workspace, or call "
               "without a workspace";
    return "a workspace is shown through overlayfs: the kernel needs CONFIG_OVERLAY_FS, the "
           "directory must be on a file system that can be a lower layer, and nothing may be "
           "mounted below it; or call without a workspace";
}

static void write_details(struct json_draft *draft, const struct call *call)
{
    const struct isolation_report *report = &call->outcome.ended.isolation;
    json_draft_integer(draft, "outer_uid", report->outer_uid);
    json_draft_integer(draft, "seccomp_instructions", report->seccomp_instructions);
}

const struct sandbox_mode_row process_mode = {
    .name = "process",
    .program = PROCESS_PROGRAM,
    .program_remedy = PROCESS_PROGRAM_REMEDY,
    .grace_ms = PROCESS_GRACE_MS,
    .isolation = RUN_ISOLATION_SANDBOX,
    .mandatory_layers = LAYERS_MANDATORY,
    .possible_layers = LAYERS_ALL,
    .needs = CAPABILITY_EXEC,
    .checked_in = SANDBOX_MODE_PROCESS,
    .packages_for = "process",
    .shows_workspace = true,
    .workspace_remedy = remedy_for_workspace,
    .prepares_interpreter = true,
    .tool_runners = SANDBOX_MODE_EVERY_RUNNER,
    .session_runners = SANDBOX_MODE_EVERY_RUNNER,
    .keeps_checkpoints = true,
    .has_pool = true,
    .pool_grows = true,
    .network = "the gateway's machine",
    .layer_remedy = process_layer_remedy,
    .write_details = write_details,
};

const struct sandbox_mode_row none_mode = {
    .name = "none",
    .program = PROCESS_PROGRAM,
    .program_remedy = PROCESS_PROGRAM_REMEDY,
    .grace_ms = PROCESS_GRACE_MS,
    .possible_layers = LAYERS_ALL, /* "require" does not apply to it */
    .needs = CAPABILITY_MODE_NONE,
    .not_allowed = "mode none isolates nothing: it needs a policy that lists it in \"modes\" and "
                   "the capability sandbox.exec.mode.none",
    .checked_in = SANDBOX_MODE_PROCESS,
    .no_packages = "code of packages runs in a sandbox alone",
    .no_endpoints = "a program without a sandbox has the gateway's own network",
    .network = "the gateway's machine",
    .layer_remedy = process_layer_remedy,
};
