/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row of mode unprivileged: process mode without namespaces, which a policy chooses with
 * "process.isolation". Runs in the gateway, on the thread inside tool_invoke(), tool_prepare() or
 * tool_status().
 */
#include "backends/process/gateway/process_modes.h"
#include "backends/process/messages/layer_remedies.h"
#include "backends/process/messages/process_options.h"
#include "call/call.h"
#include "vocabulary/sandbox_mode.h"
#include "json/json_text.h"

/* The policy has read its section with the one of process mode. */
static bool read_options(const struct json_place *place, json_t *section __attribute__((unused)),
                         struct policy *policy, struct wire_bytes *ret)
{
    const struct process_options options = {.scratch_directory = policy->scratch_directory};
    return process_options_write(&options, ret) || json_place_out_of_memory(place);
}

static void write_details(struct json_draft *draft, const struct call *call)
{
    json_draft_integer(draft, "seccomp_instructions",
                       call->outcome.ended.isolation.seccomp_instructions);
}

const struct sandbox_mode_row unprivileged_mode = {
    .name = "unprivileged",
    .program = PROCESS_PROGRAM,
    .program_remedy = PROCESS_PROGRAM_REMEDY,
    .grace_ms = PROCESS_GRACE_MS,
    .variant_of = &process_mode,
    .isolation = RUN_ISOLATION_UNPRIVILEGED,
    .mandatory_layers = LAYERS_UNPRIVILEGED,
    .possible_layers = LAYERS_UNPRIVILEGED_POSSIBLE,
    .needs = CAPABILITY_MODE_UNPRIVILEGED,
    .not_allowed = "process mode without namespaces needs a policy with \"process.isolation\" "
                   "\"unprivileged\" and the capability sandbox.exec.mode.unprivileged: "
                   "policies/in-container.json has both",
    .checked_in = SANDBOX_MODE_UNPRIVILEGED,
    .prepares_interpreter = true,
    .tool_runners = SANDBOX_MODE_EVERY_RUNNER,
    .session_runners = SANDBOX_MODE_EVERY_RUNNER,
    .keeps_checkpoints = true,
    .packages_for = "process",
    .no_endpoints = "without namespaces a sandbox holds ports, not addresses",
    .has_pool = true,
    .pool_grows = true,
    .read_options = read_options,
    .layer_remedy = unprivileged_layer_remedy,
    .write_details = write_details,
};
