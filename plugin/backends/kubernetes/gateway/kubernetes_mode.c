/* SPDX-License-Identifier: Apache-2.0 */
/* The row of mode kubernetes: a pod a run. Runs in the gateway, on the thread inside tool_invoke(),
 * tool_prepare() or tool_status(). */
#include <stdio.h>
#include <string.h>

#include "backends/kubernetes/gateway/kubernetes_policy.h"
#include "backends/kubernetes/messages/kubernetes_messages.h"
#include "base/cleanup.h"
#include "call/call.h"
#include "vocabulary/sandbox_mode.h"
#include "json/json_text.h"

static const char *remedy_for_layer(enum isolation_layer layer,
                                    int error_number __attribute__((unused)))
{
    if (layer == LAYER_USER_NAMESPACE)
        return "set the policy's \"kubernetes.user_namespace\", where the nodes' runtime has user "
               "namespaces for pods, or take \"user_namespace\" out of \"require\"";
    if (layer == LAYER_LANDLOCK)
        return "the nodes or the runtime class need Landlock (CONFIG_SECURITY_LANDLOCK, and "
               "landlock in lsm=), or take \"landlock\" out of the policy's \"require\"";
    if (layer == LAYER_NETWORK_NAMESPACE)
        return "a pod has an interface of its own; apply deploy/kubernetes/network.yaml in a "
               "cluster whose network plugin enforces NetworkPolicy, or take \"network_namespace\" "
               "out of the policy's \"require\": its programs get no socket of the network";
    if (layer == LAYER_CGROUP_NAMESPACE)
        return "the node shows the path of a pod's control group: take \"cgroup_namespace\" out of "
               "the policy's \"require\"";
    return "see the cluster's own words: kubectl get events --namespace NAMESPACE";
}

static void write_or_null(struct json_draft *draft, const char *name, const char *text)
{
    json_draft_string(draft, name, text[0] != '\0' ? text : NULL);
}

static const char *proof_name(uint32_t proof)
{
    static const char *const names[NETWORK_PROOF_COUNT] = {
        [NETWORK_NOT_PROVEN] = "not_proven", [NETWORK_CLOSED] = "closed", [NETWORK_OPEN] = "open"};
    return names[proof];
}

/* As the policy says: each run claims a pod of it, or has its own. */
static void write_warm_pool(struct json_draft *draft, const struct wire_bytes *bytes)
{
    CLEANUP(kubernetes_options_clear) struct kubernetes_options options = {.kubeconfig = NULL};
    bool is_known = kubernetes_options_read(bytes, &options);
    write_or_null(draft, "warm_pool", is_known && options.warm_pool ? options.warm_pool : "");
}

static void write_details(struct json_draft *draft, const struct call *call)
{
    const struct kubernetes_report report = kubernetes_report_read(&call->outcome.ended.details);
    json_draft_string(draft, "attested_by", "cluster");
    write_or_null(draft, "server_version", report.server_version);
    write_or_null(draft, "namespace", report.name_space);
    write_or_null(draft, "pod", report.pod);
    write_or_null(draft, "node", report.node);
    write_or_null(draft, "runtime_class", report.runtime_class);
    write_warm_pool(draft, &call->description.options);
    write_or_null(draft, "kernel", report.kernel);
    json_draft_string(draft, "network_tried", proof_name(report.network_proof));
    write_or_null(draft, "network_reason", report.network_reason);
    json_draft_string(draft, "image", call->description.image.name);
    write_or_null(draft, "image_id", call->outcome.ended.image_id);
}

/* What doctor shows of that layer: there is an interface, and what was tried of it. */
static void describe_network(json_t *layers, const struct kubernetes_report *report)
{
    char detail[160];
    size_t i;
    json_t *layer;
    json_array_foreach(layers, i, layer)
    {
        const char *name = json_string_value(json_object_get(layer, "name"));
        if (!name || strcmp(name, isolation_layer_name(LAYER_NETWORK_NAMESPACE)) != 0)
            continue;
        (void)snprintf(detail, sizeof(detail), "tried from inside of a pod: %s%s%s",
                       proof_name(report->network_proof), report->network_reason[0] ? ", " : "",
                       report->network_reason);
        (void)json_object_set_new(layer, "detail", json_string(detail));
    }
}

static void add_status(json_t *status, const struct run_event *trial)
{
    const struct kubernetes_report report = kubernetes_report_read(&trial->details);
    if (report.server_version[0] == '\0')
        return;
    (void)json_object_set_new(
        status, "cluster",
        json_pack("{s:s, s:s, s:s, s:s, s:s}", "version", report.server_version, "namespace",
                  report.name_space, "runtime_class", report.runtime_class, "network_tried",
                  proof_name(report.network_proof), "network_reason", report.network_reason));
    describe_network(json_object_get(status, "layers"), &report);
}

const struct sandbox_mode_row kubernetes_mode = {
    .name = "kubernetes",
    .program = "code-execute-kubernetes",
    .program_is_missing = "kubernetes is not available: this installation has no kubernetes "
                          "backend (code-execute-kubernetes is not next to code_execute.so)",
    .program_remedy = "build or install code-execute with libcurl and libyaml, or where the policy "
                      "allows it set CODE_EXEC_SANDBOX=process; a weaker mode is never chosen "
                      "automatically",
    .machine = "the cluster's nodes",
    .grace_ms = 30000, /* until a node that does not confirm a pod's end counts as silent */
    .isolation = RUN_ISOLATION_SANDBOX,
    .mandatory_layers = LAYERS_KUBERNETES,
    .possible_layers = LAYERS_ALL,
    .needs = CAPABILITY_EXEC,
    .not_allowed = "mode kubernetes needs a policy that lists it in \"modes\" and has its images "
                   "in \"kubernetes\": policies/kubernetes.json is an example",
    .checked_in = SANDBOX_MODE_KUBERNETES,
    .has_images = true,
    .has_pool = true,
    .tool_runners = SANDBOX_MODE_EVERY_RUNNER,
    .session_runners = SANDBOX_MODE_EVERY_RUNNER,
    .keeps_checkpoints = true,
    .tells_usage_ms = 100,
    .no_packages = "a set of packages lies on the gateway's disk, where no node sees it; put what "
                   "programs need into the image (deploy/image)",
    .read_options = kubernetes_policy_read,
    .add_environment = kubernetes_policy_add_environment,
    .layer_remedy = remedy_for_layer,
    .write_details = write_details,
    .add_status = add_status,
};
