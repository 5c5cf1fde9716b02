/* SPDX-License-Identifier: Apache-2.0 */
/* Probing and reporting. Runs in the gateway, on the thread inside tool_status() or tool_prepare().
 */
#include "status.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "backend_client.h"
#include "call_registry.h"
#include "cleanup.h"
#include "configuration.h"
#include "json_text.h"
#include "readiness.h"
#include "remedy.h"

static atomic_uint_fast64_t calls_run;
static atomic_uint_fast64_t calls_not_run;

void status_count_call(bool ran)
{
    (void)atomic_fetch_add(ran ? &calls_run : &calls_not_run, 1);
}

static json_t *error_json(const struct error *error)
{
    return json_pack("{s:s, s:s, s:s}", "code", error_code_name(error->code), "message",
                     error->message, "hint", error->hint);
}

/* What the trial says of one layer. Behind a failure nothing was tried any more. */
static const char *layer_state(const struct run_event *trial, enum isolation_layer layer)
{
    if ((trial->isolation.applied & LAYER_BIT(layer)) != 0)
        return "applied";
    if (trial->failure == RUN_FAILURE_LAYER && trial->failed_layer == (uint32_t)layer)
        return "failed";
    if ((trial->isolation.missing & LAYER_BIT(layer)) != 0)
        return "missing";
    return "untested";
}

static json_t *layer_json(const struct run_event *trial, enum isolation_layer layer)
{
    const struct isolation_report *report = &trial->isolation;
    const char *state = layer_state(trial, layer);
    char detail[160];
    (void)snprintf(detail, sizeof(detail), "%s", isolation_layer_meaning(layer));
    if (layer == LAYER_LANDLOCK && report->landlock_abi > 0)
        (void)snprintf(detail, sizeof(detail), "ABI %u", report->landlock_abi);
    if (layer == LAYER_CGROUP && report->cgroup_version > 0)
        (void)snprintf(detail, sizeof(detail), "version %u:%s%s", report->cgroup_version,
                       report->cgroup_has_memory != 0 ? " memory" : "",
                       report->cgroup_has_pids != 0 ? " pids" : "");
    json_t *json = json_pack("{s:s, s:s, s:s}", "name", isolation_layer_name(layer), "state", state,
                             "detail", detail);
    if (strcmp(state, "failed") == 0 || strcmp(state, "missing") == 0) {
        char remedy[512];
        remedy_for_layer(layer, trial->error_number, remedy, sizeof(remedy));
        (void)json_object_set_new(json, "remedy", json_string(remedy));
    }
    return json;
}

/* Is the backend's mode usable under this policy, layer by layer? */
static json_t *backend_json(const struct policy *policy, enum sandbox_mode mode,
                            bool *ret_available)
{
    struct error error;
    struct run_event trial = {0};
    bool reported = backend_exists(mode, &error) &&
                    readiness_trial(policy, mode, NULL, false, -1, &trial, &error);
    bool available = reported && trial.failure == RUN_FAILURE_NONE && trial.exit_code == 0;
    if (reported && !available)
        readiness_explain(&trial, NULL, &error);
    json_t *layers = json_array();
    for (int layer = 0; reported && mode != SANDBOX_MODE_NONE && layer < LAYER_COUNT; layer++)
        (void)json_array_append_new(layers, layer_json(&trial, (enum isolation_layer)layer));
    *ret_available = available;
    return json_pack("{s:s, s:b, s:b, s:o, s:o}", "name", sandbox_mode_name(mode), "available",
                     (int)available, "allowed", (int)policy->mode_allowed[mode], "layers", layers,
                     "error", available ? json_null() : error_json(&error));
}

static json_t *runtimes_json(const struct policy *policy, enum sandbox_mode mode)
{
    json_t *runtimes = json_array();
    for (size_t i = 0; i < policy->language_count; i++) {
        const struct policy_language *language = &policy->languages[i];
        struct error error;
        bool found = readiness_check(policy, mode, language, false, -1, &error);
        (void)json_array_append_new(runtimes,
                                    json_pack("{s:s, s:b, s:s, s:s}", "language", language->name,
                                              "found", (int)found, "program", language->argv[0],
                                              "package", language->package));
    }
    return runtimes;
}

static void add_configuration(json_t *status, const struct configuration *configuration,
                              bool *ret_usable)
{
    const struct policy *policy = configuration->policy;
    json_t *backends = json_array();
    for (int mode = 0; mode < SANDBOX_MODE_COUNT; mode++) {
        bool available = false;
        (void)json_array_append_new(backends,
                                    backend_json(policy, (enum sandbox_mode)mode, &available));
        if ((enum sandbox_mode)mode == configuration->mode)
            *ret_usable = available;
    }
    (void)json_object_set_new(status, "mode", json_string(sandbox_mode_name(configuration->mode)));
    (void)json_object_set_new(status, "backends", backends);
    (void)json_object_set_new(status, "runtimes",
                              *ret_usable ? runtimes_json(policy, configuration->mode)
                                          : json_array());
    (void)json_object_set_new(status, "policy",
                              json_pack("{s:s, s:s, s:s}", "source", policy->source, "sha256",
                                        policy->sha256, "default_mode",
                                        sandbox_mode_name(policy->default_mode)));
}

char *status_text(const struct error *refusal)
{
    CLEANUP(configuration_clear) struct configuration configuration = {0};
    struct error error;
    bool usable = false;
    json_auto_t *status =
        json_pack("{s:s, s:s, s:{s:I, s:I, s:I}}", "provider", "code-execute", "version",
                  CODE_EXECUTE_VERSION, "counters", "calls_running", (json_int_t)call_count(),
                  "calls_run", (json_int_t)atomic_load(&calls_run), "calls_not_run",
                  (json_int_t)atomic_load(&calls_not_run));
    bool configured = configuration_current(&configuration, &error);
    if (configured)
        add_configuration(status, &configuration, &usable);
    if (refusal == NULL && !configured)
        refusal = &error;
    (void)json_object_set_new(status, "error", refusal != NULL ? error_json(refusal) : json_null());
    (void)json_object_set_new(status, "ready", json_boolean(usable));
    return json_text(status, JSON_COMPACT);
}
