/* SPDX-License-Identifier: Apache-2.0 */
/* The result's member "isolation". Runs in the gateway, on the thread inside tool_invoke(). */
#include "protocol/layers.h"
#include "result/result.h"
#include "result/result_member.h"

static void write_layers(struct json_draft *draft, const char *name, uint64_t layers)
{
    json_draft_open(draft, name, '[');
    for (int layer = 0; layer < LAYER_COUNT; layer++)
        if ((layers & LAYER_BIT(layer)) != 0)
            json_draft_string(draft, NULL, isolation_layer_name((enum isolation_layer)layer));
    json_draft_close(draft, ']');
}

static uint64_t requested_layers(const struct call *call)
{
    if (call->description.isolation == RUN_ISOLATION_NONE || !call->configuration.policy)
        return 0;
    uint64_t layers = call->description.endpoints ? LAYERS_ALL : LAYERS_EVERY_RUN;
    return call->request.network ? layers & ~LAYER_BIT(LAYER_NETWORK_NAMESPACE) : layers;
}

/* 0 as well where the backend was lost before it could report them. */
static uint64_t applied_layers(const struct call *call)
{
    bool is_isolated = call->executed && call->description.isolation != RUN_ISOLATION_NONE;
    return is_isolated ? call->outcome.ended.isolation.applied : 0;
}

static void write_requested(struct json_draft *draft, const char *name, const struct result *result)
{
    write_layers(draft, name, requested_layers(result->call));
}

static void write_applied(struct json_draft *draft, const char *name, const struct result *result)
{
    write_layers(draft, name, applied_layers(result->call));
}

static void write_missing(struct json_draft *draft, const char *name, const struct result *result)
{
    uint64_t applied = applied_layers(result->call);
    write_layers(draft, name, applied != 0 ? requested_layers(result->call) & ~applied : 0);
}

/* The limits that nothing in the kernel enforces for the whole tree of a run: the backend counts,
 * and ends a run that is beyond them. */
static void write_supervised(struct json_draft *draft, const struct isolation_report *report)
{
    json_draft_open(draft, "supervised", '[');
    if (report->cgroup_has_memory == 0)
        json_draft_string(draft, NULL, "memory_bytes");
    if (report->cgroup_has_pids == 0)
        json_draft_string(draft, NULL, "processes");
    json_draft_string(draft, NULL, "scratch_bytes");
    json_draft_string(draft, NULL, "scratch_inodes");
    json_draft_string(draft, NULL, "cpu_ms");
    json_draft_close(draft, ']');
}

/* What every mode that has layers can say, and then the mode's own. */
static void write_facts(struct json_draft *draft, const struct call *call)
{
    const struct isolation_report *report = &call->outcome.ended.isolation;
    json_draft_integer(draft, "landlock_abi", report->landlock_abi);
    json_draft_integer(draft, "cgroup_version", report->cgroup_version);
    json_draft_boolean(draft, "cgroup_memory", report->cgroup_has_memory);
    json_draft_boolean(draft, "cgroup_pids", report->cgroup_has_pids);
    json_draft_boolean(draft, "network", call->request.network);
    policy_mode_row(call->configuration.policy, call->configuration.mode)
        ->write_details(draft, call);
    if (call->description.isolation == RUN_ISOLATION_UNPRIVILEGED)
        write_supervised(draft, report);
}

static void write_details(struct json_draft *draft, const char *name, const struct result *result)
{
    json_draft_open(draft, name, '{');
    if (applied_layers(result->call) != 0)
        write_facts(draft, result->call);
    json_draft_close(draft, '}');
}

const struct result_member isolation_members[] = {
    {.name = "requested",
     .type = RESULT_STRINGS,
     .description = "layers that the run asked for",
     .write = write_requested},
    {.name = "applied",
     .type = RESULT_STRINGS,
     .description = "layers that were in force in this run",
     .write = write_applied},
    {.name = "missing",
     .type = RESULT_STRINGS,
     .description = "layers that this machine could not provide",
     .write = write_missing},
    {.name = "details",
     .type = RESULT_OPEN,
     .description = "facts about single layers; \"supervised\": limits that the backend counts and "
                    "no kernel enforces",
     .write = write_details},
    {.name = NULL},
};
