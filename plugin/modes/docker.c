/* SPDX-License-Identifier: Apache-2.0 */
/* Mode docker. Runs in the gateway, on the thread inside tool_invoke(), tool_prepare() or
 * tool_status(). */
#include <stdio.h>

#include "call/call.h"
#include "modes/modes.h"
#include "run/remedy.h"
#include "json/json_text.h"

static void explain_layer(enum isolation_layer layer, int error_number, char *hint, size_t size)
{
    (void)error_number;
    (void)snprintf(hint, size, "%s", remedy_for_container_layer(layer));
}

static void write_or_null(struct json_draft *draft, const char *name, const char *text)
{
    json_draft_string(draft, name, text[0] != '\0' ? text : NULL);
}

static void write_details(struct json_draft *draft, const struct call *call)
{
    const struct isolation_report *report = &call->outcome.ended.isolation;
    const struct engine_report *engine = &call->outcome.ended.engine;
    json_draft_integer(draft, "cgroup_version", report->cgroup_version);
    json_draft_boolean(draft, "cgroup_memory", report->cgroup_has_memory);
    json_draft_boolean(draft, "cgroup_pids", report->cgroup_has_pids);
    json_draft_boolean(draft, "network", call->request.network);
    write_or_null(draft, "engine", engine->name);
    write_or_null(draft, "engine_version", engine->version);
    write_or_null(draft, "engine_api", engine->api);
    write_or_null(draft, "runtime", engine->runtime);
    write_or_null(draft, "runtime_version", engine->runtime_version);
    json_draft_boolean(draft, "rootless", engine->rootless);
    json_draft_boolean(draft, "user_namespace", engine->user_namespace);
    json_draft_string(draft, "image", call->description.image.name);
    write_or_null(draft, "image_id", call->outcome.ended.image_id);
}

const struct sandbox_mode_row docker_mode = {
    .name = "docker",
    .program = "code-execute-docker",
    .program_is_missing = "docker is not available: this installation has no docker backend "
                          "(code-execute-docker is not next to code_execute.so)",
    .program_remedy = "install the docker backend, or where the policy allows it set "
                      "CODE_EXEC_SANDBOX=process; a weaker mode is never chosen automatically",
    .grace_ms = 10000,
    .isolates = true,
    /* What every hardened container has. A user namespace is the engine's to give, Landlock is no
     * part of a container. */
    .mandatory_layers = LAYERS_ALL & ~(LAYER_BIT(LAYER_USER_NAMESPACE) | LAYER_BIT(LAYER_LANDLOCK)),
    .needs = CAPABILITY_EXEC,
    .checked_in = SANDBOX_MODE_DOCKER,
    .has_images = true,
    .has_shell = true,
    .network = "the engine's bridge",
    .explain_layer = explain_layer,
    .write_details = write_details,
};
