/* SPDX-License-Identifier: Apache-2.0 */
/* The row of mode docker. Runs in the gateway, on the thread inside tool_invoke(), tool_prepare()
 * or tool_status(). */
#include "backends/docker/gateway/docker_policy.h"
#include "backends/docker/messages/docker_messages.h"
#include "call/call.h"
#include "vocabulary/sandbox_mode.h"
#include "json/json_text.h"

static const char *remedy_for_layer(enum isolation_layer layer,
                                    int error_number __attribute__((unused)))
{
    if (layer == LAYER_USER_NAMESPACE)
        return "run the engine rootless, or with \"userns-remap\" in its daemon.json";
    if (layer == LAYER_LANDLOCK)
        return "the engine's machine or its runtime needs Landlock (CONFIG_SECURITY_LANDLOCK, and "
               "landlock in lsm=), or take \"landlock\" out of the policy's \"require\"";
    if (layer == LAYER_CGROUP_NAMESPACE)
        return "gVisor shows the path of the container's control group: take \"cgroup_namespace\" "
               "out of the policy's \"require\", or another runtime";
    return "see the engine's own warnings: docker info";
}

static void write_or_null(struct json_draft *draft, const char *name, const char *text)
{
    json_draft_string(draft, name, text[0] != '\0' ? text : NULL);
}

static void write_details(struct json_draft *draft, const struct call *call)
{
    const struct engine_report engine = engine_report_read(&call->outcome.ended.details);
    write_or_null(draft, "engine", engine.name);
    write_or_null(draft, "engine_version", engine.version);
    write_or_null(draft, "engine_api", engine.api);
    write_or_null(draft, "runtime", engine.runtime);
    write_or_null(draft, "runtime_version", engine.runtime_version);
    write_or_null(draft, "kernel", engine.kernel);
    json_draft_boolean(draft, "rootless", engine.rootless);
    json_draft_boolean(draft, "user_namespace", engine.user_namespace);
    json_draft_string(draft, "image", call->description.image.name);
    write_or_null(draft, "image_id", call->outcome.ended.image_id);
}

static void add_status(json_t *status, const struct run_event *trial)
{
    const struct engine_report engine = engine_report_read(&trial->details);
    if (engine.name[0] == '\0')
        return;
    (void)json_object_set_new(status, "engine",
                              json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:b}", "name", engine.name,
                                        "version", engine.version, "api", engine.api, "runtime",
                                        engine.runtime, "runtime_version", engine.runtime_version,
                                        "rootless", (int)engine.rootless, "user_namespace",
                                        (int)engine.user_namespace));
}

const struct sandbox_mode_row docker_mode = {
    .name = "docker",
    .program = "code-execute-docker",
    .program_is_missing = "docker is not available: this installation has no docker backend "
                          "(code-execute-docker is not next to code_execute.so)",
    .program_remedy = "install the docker backend, or where the policy allows it set "
                      "CODE_EXEC_SANDBOX=process; a weaker mode is never chosen automatically",
    .grace_ms = 10000,
    .isolation = RUN_ISOLATION_SANDBOX,
    .mandatory_layers = LAYERS_DOCKER,
    .possible_layers = LAYERS_ALL,
    .needs = CAPABILITY_EXEC,
    .checked_in = SANDBOX_MODE_DOCKER,
    .has_images = true,
    .tool_runners = SANDBOX_MODE_EVERY_RUNNER,
    .session_runners = SANDBOX_MODE_EVERY_RUNNER,
    .keeps_checkpoints = true,
    .tells_usage_ms = 100, /* a question takes half a millisecond */
    .has_pool = true,
    .packages_for = "docker",
    .packages_in_image = true,
    .network = "the engine's bridge",
    .read_options = docker_policy_read,
    .add_environment = docker_policy_add_environment,
    .layer_remedy = remedy_for_layer,
    .write_details = write_details,
    .add_status = add_status,
};
