/* SPDX-License-Identifier: Apache-2.0 */
/* Probing and reporting. Runs in the gateway, on the thread inside tool_status() or tool_prepare().
 */
#include "exports/status.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "admission/admission.h"
#include "approval/approval.h"
#include "base/cleanup.h"
#include "call/call_registry.h"
#include "gate/offer/offer.h"
#include "policy/configuration.h"
#include "run/backend_client.h"
#include "run/readiness.h"
#include "session/session.h"
#include "tools/tool_count.h"
#include "json/json_text.h"

static atomic_uint_fast64_t calls_run;
static atomic_uint_fast64_t calls_not_run;
static atomic_uint_fast64_t sandboxes[SANDBOX_ORIGIN_COUNT];
static atomic_uint_fast64_t calls_too_many;

void status_count_call(const struct run_event *ended, const struct error *error)
{
    (void)atomic_fetch_add(ended ? &calls_run : &calls_not_run, 1);
    if (ended)
        (void)atomic_fetch_add(&sandboxes[ended->origin], 1);
    if (error && error->code == ERROR_TOO_MANY_REQUESTS)
        (void)atomic_fetch_add(&calls_too_many, 1);
}

void status_after_fork(void)
{
    atomic_store(&calls_run, 0);
    atomic_store(&calls_not_run, 0);
    for (size_t i = 0; i < COUNT_OF(sandboxes); i++)
        atomic_store(&sandboxes[i], 0);
    atomic_store(&calls_too_many, 0);
    tool_count_after_fork();
}

json_t *status_error(const struct error *error)
{
    if (!error)
        return json_null();
    return json_pack("{s:s, s:s, s:s}", "code", error_code_name(error->code), "message",
                     error->message, "hint", error->hint);
}

/* The trial's result for one layer. After a failure no further layer was tried. */
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

static json_t *layer_json(enum sandbox_mode mode, const struct run_event *trial,
                          enum isolation_layer layer)
{
    const struct isolation_report *report = &trial->isolation;
    const char *state = layer_state(trial, layer);
    char detail[360];
    (void)snprintf(detail, sizeof(detail), "%s", isolation_layer_meaning(layer));
    if (layer == LAYER_LANDLOCK && report->landlock_abi > 0)
        (void)snprintf(detail, sizeof(detail), "ABI %u", report->landlock_abi);
    if (layer == LAYER_CGROUP && report->cgroup_version > 0)
        (void)snprintf(detail, sizeof(detail), "version %u:%s%s%s%s", report->cgroup_version,
                       report->cgroup_has_memory != 0 ? " memory" : "",
                       report->cgroup_has_pids != 0 ? " pids" : "",
                       trial->groups[0] != '\0' ? ", below " : "", trial->groups);
    json_t *json = json_pack("{s:s, s:s, s:s}", "name", isolation_layer_name(layer), "state", state,
                             "detail", detail);
    const struct sandbox_mode_row *row = sandbox_mode_row(mode);
    bool is_possible = (row->possible_layers & LAYER_BIT(layer)) != 0;
    if (is_possible && (strcmp(state, "failed") == 0 || strcmp(state, "missing") == 0)) {
        const char *remedy = row->layer_remedy(layer, trial->error_number);
        (void)json_object_set_new(json, "remedy", json_string(remedy));
    }
    return json;
}

/* A report has no progress listener, and fetches nothing. */
static const struct tool_host no_host;
static const struct trial_watcher nobody = {.host = &no_host, .cancel_fd = -1};

static bool try_layers(const struct policy *policy, enum sandbox_mode mode, const char *image,
                       struct run_event *ret, struct error *error)
{
    const struct trial_subject subject = {.policy = policy, .mode = mode, .image = image};
    return readiness_trial(&subject, &nobody, ret, error);
}

/* With the first image that the engine has: a missing image says nothing about the layers. */
static bool try_images(const struct policy *policy, enum sandbox_mode mode, struct run_event *ret,
                       struct error *error)
{
    bool reported = false;
    size_t i = 0;
    const struct policy_images *images = &policy->images[mode];
    do {
        const char *image = i < images->count ? images->by_language[i].name : NULL;
        reported = try_layers(policy, mode, image, ret, error);
    } while (reported && ret->failure == RUN_FAILURE_IMAGE && ++i < images->count);
    return reported;
}

static json_t *part_json(const struct backend_part *part)
{
    char detail[640];
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I}", "name", part->name, "state",
                             backend_part_state_name((enum backend_part_state)part->state),
                             "address", part->address, "mode", part->mode, "runs",
                             (json_int_t)part->runs, "slots", (json_int_t)part->slots);
    int length = snprintf(detail, sizeof(detail), "%s", part->address);
    if (part->slots > 0)
        length += snprintf(detail + length, sizeof(detail) - (size_t)length,
                           ", mode %s, %u of %u runs", part->mode, part->runs, part->slots);
    (void)snprintf(detail + length, sizeof(detail) - (size_t)length, "%s%s",
                   part->message[0] != '\0' ? ", " : "", part->message);
    (void)json_object_set_new(json, "detail", json_string(detail));
    if (part->remedy[0] != '\0')
        (void)json_object_set_new(json, "remedy", json_string(part->remedy));
    return json;
}

/* After a trial, which has the backend look for its parts. */
static void add_parts(json_t *status, enum sandbox_mode mode)
{
    CLEANUP(backend_parts_clear) struct backend_parts parts = {.count = 0};
    if (backend_ask_parts(mode, &parts) != POOL_ANSWERED)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < parts.count; i++)
        (void)json_array_append_new(list, part_json(&parts.parts[i]));
    (void)json_object_set_new(status, "parts", list);
    (void)json_object_set_new(status, "parts_omitted",
                              json_integer((json_int_t)(parts.total - parts.count)));
}

/* Is the backend's mode usable under this policy, layer by layer? */
static json_t *backend_json(const struct policy *policy, enum sandbox_mode mode,
                            bool *ret_available)
{
    struct error error;
    struct run_event trial = {0};
    const struct sandbox_mode_row *row = sandbox_mode_row(mode);
    bool reported = backend_exists(mode, &error) && try_images(policy, mode, &trial, &error);
    bool available = reported && trial.failure == RUN_FAILURE_NONE && trial.exit_code == 0;
    if (reported && !available)
        readiness_explain(&trial, mode, NULL, NULL, &error);
    json_t *layers = json_array();
    for (int layer = 0; reported && row->isolation && layer < LAYER_COUNT; layer++)
        if ((LAYERS_EVERY_RUN & LAYER_BIT(layer)) != 0)
            (void)json_array_append_new(layers,
                                        layer_json(mode, &trial, (enum isolation_layer)layer));
    *ret_available = available;
    json_t *json = json_pack("{s:s, s:b, s:b, s:o, s:o}", "name", row->name, "available",
                             (int)available, "allowed", (int)policy->mode_allowed[mode], "layers",
                             layers, "error", status_error(available ? NULL : &error));
    if (reported && row->add_status)
        row->add_status(json, &trial);
    if (row->has_parts)
        add_parts(json, mode);
    return json;
}

json_t *status_variants(const struct policy *policy)
{
    json_auto_t *variants = json_array();
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++) {
        enum sandbox_mode mode = (enum sandbox_mode)i;
        const struct sandbox_mode_row *row = sandbox_mode_row(mode);
        enum sandbox_mode of = mode;
        bool available = false;
        if (!row->variant_of || !sandbox_mode_parse(row->variant_of->name, &of) ||
            !policy->mode_allowed[of])
            continue;
        json_t *variant = backend_json(policy, mode, &available);
        (void)json_object_set_new(variant, "variant_of", json_string(row->variant_of->name));
        (void)json_object_set_new(variant, "how", json_string(row->not_allowed));
        if (json_array_append_new(variants, variant) != 0)
            return NULL;
    }
    return TAKE_POINTER(variants);
}

static json_t *runtime_json(const struct policy *policy, enum sandbox_mode mode,
                            const struct policy_language *language)
{
    struct error error;
    char image_id[IMAGE_ID_SIZE];
    const struct policy_image *image = policy_find_image(policy, mode, language->name);
    const struct trial_subject subject = {
        .policy = policy,
        .mode = mode,
        .language = language,
        .image = image ? image->name : NULL,
    };
    bool found = readiness_check(&subject, &nobody, image_id, &error);
    char *const *command = image && image->argv ? image->argv : language->argv;
    return json_pack("{s:s, s:b, s:s, s:s, s:o, s:o}", "language", language->name, "found",
                     (int)found, "program", command[0], "package", language->package, "image",
                     image ? json_string(image->name) : json_null(), "error",
                     status_error(found ? NULL : &error));
}

static json_t *runtimes_json(const struct policy *policy, enum sandbox_mode mode)
{
    json_t *runtimes = json_array();
    for (size_t i = 0; i < policy->language_count; i++)
        (void)json_array_append_new(runtimes, runtime_json(policy, mode, &policy->languages[i]));
    return runtimes;
}

static void add_configuration(json_t *status, const struct configuration *configuration,
                              bool *ret_usable)
{
    const struct policy *policy = configuration->policy;
    json_t *backends = json_array();
    for (int mode = 0; mode < SANDBOX_MODE_COUNT; mode++) {
        bool available = false;
        if (sandbox_mode_row((enum sandbox_mode)mode)->variant_of && !policy->mode_allowed[mode])
            continue; /* nobody has chosen it, so nothing of it is tried */
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
    /* Without a sandbox of its own a program has the gateway's network. */
    bool open_world = policy->network_allowed || !sandbox_mode_row(configuration->mode)->isolation;
    (void)json_object_set_new(
        status, "annotations",
        json_pack("{s:{s:b}}", "code_execute", "openWorldHint", (int)open_world));
    (void)json_object_set_new(
        status, "input_schemas",
        json_pack("{s:o}", "code_execute",
                  offer_input_schema(&(struct offer){.configuration = configuration})));
    (void)json_object_set_new(status, "policy",
                              json_pack("{s:s, s:s, s:s}", "source", policy->source, "sha256",
                                        policy->sha256, "default_mode",
                                        sandbox_mode_name(policy->default_mode)));
}

/* By mode: how many strays are gone, how many would not go, or why none was looked for. */
static json_t *sweep_json(const struct policy *policy, enum sandbox_mode mode)
{
    struct error error;
    struct run_event ended;
    if (!readiness_sweep(policy, mode, &ended, &error))
        return json_pack("{s:s, s:n, s:n, s:o}", "mode", sandbox_mode_name(mode), "removed", "left",
                         "error", status_error(&error));
    return json_pack("{s:s, s:I, s:I, s:n}", "mode", sandbox_mode_name(mode), "removed",
                     (json_int_t)ended.swept, "left", (json_int_t)ended.unswept, "error");
}

static void add_sweep(json_t *status, const struct policy *policy)
{
    json_t *sweep = json_array();
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++)
        if (sandbox_mode_row((enum sandbox_mode)i)->isolation && policy->mode_allowed[i])
            (void)json_array_append_new(sweep, sweep_json(policy, (enum sandbox_mode)i));
    (void)json_object_set_new(status, "sweep", sweep);
}

/* One for each way in which a call of a tool can end. */
static bool add_tool_counts(json_t *counters)
{
    for (int i = 0; i < TOOL_CALL_STATUS_COUNT; i++) {
        char name[32];
        enum tool_call_status status = (enum tool_call_status)i;
        (void)snprintf(name, sizeof(name), "tool_calls_%s", tool_call_status_name(status));
        if (json_object_set_new(counters, name, json_integer((json_int_t)tool_count(status))) != 0)
            return false;
    }
    return true;
}

json_t *status_counters(void)
{
    const struct admission_counts admission = admission_count();
    json_auto_t *counters = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "calls_under_way",
        (json_int_t)call_count(), "calls_running", (json_int_t)admission.running, "calls_queued",
        (json_int_t)admission.queued, "calls_waiting_for_approval",
        (json_int_t)approval_waiting_count(), "calls_run", (json_int_t)atomic_load(&calls_run),
        "calls_not_run", (json_int_t)atomic_load(&calls_not_run), "calls_too_many",
        (json_int_t)atomic_load(&calls_too_many), "sandboxes_new",
        (json_int_t)atomic_load(&sandboxes[SANDBOX_NEW]), "sandboxes_copied",
        (json_int_t)atomic_load(&sandboxes[SANDBOX_COPIED]), "sandboxes_ready",
        (json_int_t)atomic_load(&sandboxes[SANDBOX_READY]), "sandboxes_kept",
        (json_int_t)atomic_load(&sandboxes[SANDBOX_KEPT]), "sessions", (json_int_t)session_count());
    return counters && add_tool_counts(counters) ? TAKE_POINTER(counters) : NULL;
}

static const char *const pool_states[] = {
    [POOL_STOPPED] = "stopped",
    [POOL_ANSWERED] = "answered",
    [POOL_SILENT] = "silent",
};

static const char *const interpreter_names[RUN_INTERPRETER_COUNT] = {
    [RUN_INTERPRETER_NONE] = "none",
    [RUN_INTERPRETER_PYTHON] = "python",
    [RUN_INTERPRETER_NODE] = "node",
};

static json_t *pool_row_json(size_t interpreter, const struct pool_row *row)
{
    bool known = row->memory_bytes != RUN_USAGE_UNKNOWN;
    return json_pack("{s:s, s:I, s:I, s:o}", "interpreter", interpreter_names[interpreter], "ready",
                     (json_int_t)row->ready, "wanted", (json_int_t)row->wanted, "memory_bytes",
                     known ? json_integer((json_int_t)row->memory_bytes) : json_null());
}

static json_t *pool_json(enum sandbox_mode mode)
{
    struct pool_report report;
    enum pool_state state = backend_ask_pool(mode, &report);
    json_auto_t *rows = json_array();
    for (size_t i = 0; state != POOL_SILENT && i < RUN_INTERPRETER_COUNT; i++)
        if (json_array_append_new(rows, pool_row_json(i, &report.rows[i])) != 0)
            return NULL;
    return json_pack("{s:s, s:s, s:O}", "backend", sandbox_mode_name(mode), "state",
                     pool_states[state], "sandboxes", rows);
}

/* A variant's backend is the one of the mode that it stands for. What works with several leaves the
 * pools to them, and knows nothing of these. */
static bool is_told(const struct sandbox_mode_row *row)
{
    return row->has_pool && !row->variant_of && !row->has_parts;
}

json_t *status_pools(void)
{
    json_auto_t *pools = json_array();
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++)
        if (is_told(sandbox_mode_row((enum sandbox_mode)i)) &&
            json_array_append_new(pools, pool_json((enum sandbox_mode)i)) != 0)
            return NULL;
    return json_incref(pools);
}

char *status_text(const struct error *refusal, bool sweep)
{
    CLEANUP(configuration_clear) struct configuration configuration = {0};
    struct error error;
    bool usable = false;
    json_auto_t *status = json_pack("{s:s, s:s, s:o, s:o, s:o}", "provider", "code-execute",
                                    "version", CODE_EXECUTE_VERSION, "counters", status_counters(),
                                    "pools", status_pools(), "session_list", session_list());
    bool configured = configuration_current(&configuration, &error);
    if (configured && sweep)
        add_sweep(status, configuration.policy); /* first: leftovers may be in the way */
    if (configured)
        add_configuration(status, &configuration, &usable);
    if (!refusal && !configured)
        refusal = &error;
    (void)json_object_set_new(status, "error", status_error(refusal));
    (void)json_object_set_new(status, "ready", json_boolean(usable));
    return json_text(status, JSON_ORDER_MADE);
}
