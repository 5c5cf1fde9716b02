/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns a run's questions to the cluster before there is a pod, and its wait for one:
 *   version (once a cluster) -> sweep (once) -> a pod
 * Runs in the kubernetes backend.
 */
#include "backends/kubernetes/supervisor/kubernetes_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/common/run_answer.h"
#include "base/cleanup.h"

#define TICK_US     UINT64_C(1000000) /* between two progress events to the plugin */
#define DIGEST_MARK "@sha256:"
/* For the cluster to tell why a pod has ended, once its stream has ended without an end of its
 * guest's. */
#define SILENT_TICKS 10

static void fail_cluster(struct run *run, const struct api_fault *fault)
{
    const struct engine_fault same = cluster_fault(fault);
    run_fail_engine(run, &same);
}

static bool is_pinned(const char *image)
{
    const char *digest = strstr(image, DIGEST_MARK);
    const char *hex = digest ? digest + strlen(DIGEST_MARK) : "";
    return strspn(hex, "0123456789abcdef") == RUN_HASH_LENGTH && hex[RUN_HASH_LENGTH] == '\0';
}

static bool check_image(const struct run_image *image, struct engine_fault *fault)
{
    if (image->name[0] == '\0')
        return engine_fault_set(fault, API_PROBLEM_NO_IMAGE, "the policy names no image");
    if (image->require_digest && !is_pinned(image->name))
        return engine_fault_set(fault, API_PROBLEM_NO_IMAGE,
                                "the policy requires images pinned by digest, and %.100s is not",
                                image->name);
    return true;
}

/* NULL when out of memory. */
static struct container *make_container(struct run *run)
{
    const struct kubernetes_environment *environment = kubernetes_environment(run->environment);
    const char *pool = kubernetes_run(run)->options.warm_pool;
    char name[CONTAINER_NAME_LENGTH + 1];
    uint64_t life_s = kubernetes_config_life_s(&run->description) + POD_MARGIN_S;
    uint64_t deadline_s = life_s + POD_START_LIMIT_US / 1000000;
    int64_t latest_s = (int64_t)time(NULL) + (int64_t)deadline_s;
    json_auto_t *marks = owner_labels(&environment->owner, run->description.run_id, latest_s);
    if (!marks || !kubernetes_config_name(name, sizeof(name)))
        return NULL;
    json_t *config = kubernetes_config_for_run(run, name, marks, deadline_s);
    if (!config)
        return NULL;
    if (pool[0] == '\0')
        return kubernetes_container_make(run->engine, config, &run->job, NULL);
    const struct claim_terms terms = {
        .name = name,
        .pool = pool,
        .owner = environment->owner_name,
        .run_id = run->description.run_id,
        .marks = marks,
        .latest_s = latest_s,
    };
    return kubernetes_container_claim(run->engine, &terms, config, life_s, &run->job);
}

void kubernetes_run_note_pod(struct run *run)
{
    struct kubernetes_report report = kubernetes_report_read(&run->event.details);
    (void)snprintf(report.pod, sizeof(report.pod), "%s", run->container->name);
    kubernetes_report_write(&report, &run->event.details);
}

void kubernetes_run_make_container(struct run *run)
{
    run->container = make_container(run);
    if (!run->container) {
        run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "make the pod");
        return;
    }
    kubernetes_run_note_pod(run);
    kubernetes_run(run)->asked_us = monotonic_us();
    kubernetes_run(run)->silent_ticks = 0;
    run->deadline_us = kubernetes_run(run)->asked_us + TICK_US;
}

/* false: it has failed, and the run with it. */
static bool add_sweep(struct run *run, const struct pods_sweep_result *result)
{
    kubernetes_run(run)->sweep = NULL;
    if (result->fault.problem != API_PROBLEM_NONE) {
        fail_cluster(run, &result->fault);
        return false;
    }
    run->event.swept += result->removed;
    run->event.unswept += result->left;
    return true;
}

static void take_sweep(void *user, const struct pods_sweep_result *result)
{
    struct run *run = user;
    if (!add_sweep(run, result))
        return;
    run->event.cause = RUN_CAUSE_EXIT;
    run->event.exit_code = 0;
    run_conclude(run);
}

static void sweep_pods(struct run *run)
{
    struct kubernetes_run *own = kubernetes_run(run);
    own->sweep = pods_sweep_start(run->engine->pods, take_sweep, run);
    if (!own->sweep)
        run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "begin the sweep");
}

/* Without their claims pods are not made anew. */
static void take_sweep_of_claims(void *user, const struct pods_sweep_result *result)
{
    struct run *run = user;
    if (add_sweep(run, result))
        sweep_pods(run);
}

static void sweep(struct run *run)
{
    struct kubernetes_run *own = kubernetes_run(run);
    if (own->options.warm_pool[0] == '\0') {
        sweep_pods(run);
        return;
    }
    own->sweep =
        claims_sweep_start(run->engine->pods, &run->engine->server, take_sweep_of_claims, run);
    if (!own->sweep)
        run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "begin the sweep");
}

/* What gateways before this one have left, of which nobody waits to hear. */
static void sweep_once(struct run *run)
{
    struct engine *cluster = run->engine;
    bool has_pool = kubernetes_run(run)->options.warm_pool[0] != '\0';
    if (!cluster->swept)
        cluster->swept = pods_sweep_start(cluster->pods, NULL, NULL) != NULL;
    if (has_pool && !cluster->swept_claims)
        cluster->swept_claims =
            claims_sweep_start(cluster->pods, &cluster->server, NULL, NULL) != NULL;
}

void kubernetes_run_go_on(struct run *run)
{
    if (run->description.purpose == RUN_PURPOSE_SWEEP) {
        sweep(run);
        return;
    }
    sweep_once(run);
    kubernetes_run_get_container(run);
}

static void write_report(struct run *run)
{
    struct kubernetes_report report = {.network_proof = NETWORK_NOT_PROVEN};
    (void)snprintf(report.server_version, sizeof(report.server_version), "%s",
                   run->engine->version);
    (void)snprintf(report.name_space, sizeof(report.name_space), "%s",
                   run->engine->server.name_space);
    (void)snprintf(report.runtime_class, sizeof(report.runtime_class), "%.63s",
                   kubernetes_run(run)->options.runtime_class);
    kubernetes_report_write(&report, &run->event.details);
}

static void begin_with_cluster(struct run *run)
{
    write_report(run);
    run_begin_on_engine(run);
}

static void take_version(void *user, const struct api_answer *answer)
{
    struct run *run = user;
    struct api_fault fault;
    kubernetes_run(run)->call = NULL;
    json_auto_t *version = api_answer_take(answer, "report its version", &fault);
    const char *name = json_string_value(json_object_get(version, "gitVersion"));
    if (!version) {
        fail_cluster(run, &fault);
        return;
    }
    (void)snprintf(run->engine->version, sizeof(run->engine->version), "%.31s", name ? name : "");
    run->engine->known = true;
    begin_with_cluster(run);
}

static void ask_for_version(struct run *run)
{
    const struct api_request request = {
        .server = &run->engine->server,
        .method = "GET",
        .path = "/version",
        .timeout_ms = API_TIME_MS,
        .done = take_version,
        .user = run,
    };
    kubernetes_run(run)->call =
        api_call_start(kubernetes_environment(run->environment)->client, &request);
    if (!kubernetes_run(run)->call)
        run_fail(run, RUN_FAILURE_INTERNAL, ENOMEM, "ask the API server");
}

/* The gateway refuses these already. They are checked again, so that no run gets less than its
 * description says. */
static const char *what_is_not_to_be_had(const struct run_description *description)
{
    if (description->network)
        return "give a pod's program a network";
    if (description->packages.path[0] != '\0')
        return "put packages into an image";
    return NULL;
}

/* The guests of a pool all wait with the same command, which is that of the trial as well. */
static bool check_pool(const struct kubernetes_run *own, struct engine_fault *fault)
{
    const struct run_description *description = &own->run.description;
    const char *what = description->session.idle_ms > 0 ? "sessions"
                       : description->endpoints         ? "runs with endpoints"
                                                        : NULL;
    if (!what || own->options.warm_pool[0] == '\0')
        return true;
    return engine_fault_set(fault, API_PROBLEM_TEMPLATE,
                            "pods of a warm pool serve no %s: the command of the template's guest "
                            "is another",
                            what);
}

void kubernetes_run_begin(struct run *run)
{
    struct kubernetes_run *own = kubernetes_run(run);
    const struct run_description *description = &run->description;
    const char *missing = what_is_not_to_be_had(description);
    struct engine_fault fault;
    if (!kubernetes_options_read(&description->options, &own->options)) {
        run_fail(run, RUN_FAILURE_DESCRIPTION, EBADMSG, "unreadable description");
        return;
    }
    if (missing) {
        run_fail(run, RUN_FAILURE_INTERNAL, ENOTSUP, missing);
        return;
    }
    if (description->purpose == RUN_PURPOSE_SWEEP ||
        (check_image(&description->image, &fault) && check_pool(own, &fault)))
        run->engine = cluster_find(kubernetes_environment(run->environment), &own->options, &fault);
    if (!run->engine) {
        run_fail_engine(run, &fault);
        return;
    }
    const char *digest = strstr(description->image.name, DIGEST_MARK);
    (void)snprintf(run->event.image_id, sizeof(run->event.image_id), "%.79s",
                   digest ? digest + 1 : "");
    if (run->engine->known)
        begin_with_cluster(run);
    else
        ask_for_version(run);
}

/* A line is sent once. An empty line means that the wait goes on. */
static void tell(struct run *run, const char *reason)
{
    struct kubernetes_run *own = kubernetes_run(run);
    struct run_event event = {.type = RUN_EVENT_PROGRESS, .exit_code = -1};
    char line[sizeof(own->last)];
    (void)snprintf(line, sizeof(line), "waiting for the pod%s%.60s", reason[0] ? ": " : "", reason);
    if (strcmp(line, own->last) != 0)
        (void)snprintf(event.message, sizeof(event.message), "%s", line);
    memcpy(own->last, line, sizeof(line));
    run_event_send(run->socket, &event);
}

bool kubernetes_run_expire(struct run *run)
{
    struct kubernetes_run *own = kubernetes_run(run);
    uint64_t now = monotonic_us();
    if (run->job.started || !run->container || run->clearing || run->container->removing ||
        run->container->stream.waiting)
        return false;
    if (now - own->asked_us > POD_START_LIMIT_US) {
        struct api_fault fault;
        kubernetes_container_explain_wait(kubernetes_container(run->container), &fault);
        fail_cluster(run, &fault);
        return true;
    }
    if (run->container->stream.over && ++own->silent_ticks > SILENT_TICKS) {
        container_fail(run->container, "the pod's guest has ended its stream without a word");
        return true;
    }
    const char *reason = kubernetes_container_reason(kubernetes_container(run->container));
    tell(run, reason);
    if (strcmp(reason, "Unschedulable") == 0)
        kubernetes_pool_make_room(run);
    run->deadline_us = now + TICK_US;
    return true;
}
