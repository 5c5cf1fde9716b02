/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns a run's questions to the cluster before there is a pod, and the terms of its pod:
 *   version (once a cluster) -> sweep (once) -> a pod
 * Runs in the kubernetes backend.
 */
#include "backends/kubernetes/supervisor/kubernetes_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "backends/common/run_answer.h"
#include "base/cleanup.h"
#include "guest/messages/guest_protocol.h"

#define TICK_US UINT64_C(1000000) /* between two words to the plugin */
/* For a pod to be scheduled, its image to be pulled and its guest to report. */
#define START_LIMIT_S      300
#define POD_START_LIMIT_US (UINT64_C(1000000) * START_LIMIT_S)
#define DIGEST_MARK        "@sha256:"

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

/* How long its pod may live from its start on: the kubelet ends one whose gateway cannot. */
static uint64_t seconds_of_life(const struct run_description *description)
{
    uint64_t wall_ms = description->session.idle_ms > 0 ? description->session.age_ms
                                                        : description->limits.wall_ms;
    uint64_t most_ms = UINT64_C(7) * 24 * 3600 * 1000;
    uint64_t life_ms = wall_ms > 0 && wall_ms < most_ms ? wall_ms : most_ms;
    uint64_t wait_ms = description->tools_wait_ms < most_ms ? description->tools_wait_ms : most_ms;
    return (life_ms + wait_ms) / 1000 + START_LIMIT_S + POD_MARGIN_S;
}

/* The name is not made from a run's id: trials share one, and it is to say nothing about a run. */
static bool choose_name(char *ret, size_t size)
{
    uint64_t random[2];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return false;
    (void)snprintf(ret, size, CONTAINER_NAME_PREFIX "%016" PRIx64 "%016" PRIx64, random[0],
                   random[1]);
    return true;
}

/* With the limits that a pod has not. */
static json_t *guest_command(const struct run_description *description)
{
    const struct run_limits *limits = &description->limits;
    uint64_t seconds = limits->cpu_ms / 1000 + (limits->cpu_ms % 1000 != 0);
    return json_pack("[s, s, s, o, o]", GUEST_PATH,
                     description->endpoints ? GUEST_WITH_ENDPOINTS : GUEST_WITHOUT_NETWORK,
                     GUEST_DISTANT, json_sprintf("%" PRIu64, limits->open_files),
                     json_sprintf("%" PRIu64, seconds));
}

/* owner's marks are annotations of the pod, or of its claim. */
static json_t *make_config(const struct run *run, const char *name, json_t *marks,
                           uint64_t deadline_s)
{
    const struct kubernetes_run *own = (const struct kubernetes_run *)run;
    const struct kubernetes_options *options = &own->options;
    const struct run_description *description = &run->description;
    json_auto_t *command = guest_command(description);
    bool is_claimed = options->warm_pool[0] != '\0';
    const struct pod_choices choices = {
        .runtime_class = options->runtime_class,
        .service_account = options->service_account,
        .user_namespace = options->user_namespace,
        .pull_secret = is_claimed ? "" : options->pull_secret, /* in a template, the operator's */
    };
    const struct pod_terms terms = {
        .image = description->image.name,
        .name = name,
        .owner = kubernetes_environment(run->environment)->owner_name,
        .marks = marks,
        .deadline_s = is_claimed ? 0 : deadline_s,
        .command = command,
    };
    return command ? pod_config_for_run(description, &choices, &terms) : NULL;
}

/* NULL when out of memory. */
static struct container *make_container(struct run *run)
{
    const struct kubernetes_environment *environment = kubernetes_environment(run->environment);
    const char *pool = kubernetes_run(run)->options.warm_pool;
    char name[CONTAINER_NAME_LENGTH + 1];
    uint64_t deadline_s = seconds_of_life(&run->description);
    int64_t latest_s = (int64_t)time(NULL) + (int64_t)deadline_s;
    json_auto_t *marks = owner_labels(&environment->owner, run->description.run_id, latest_s);
    if (!marks || !choose_name(name, sizeof(name)))
        return NULL;
    json_t *config = make_config(run, name, marks, deadline_s);
    if (!config)
        return NULL;
    if (pool[0] == '\0')
        return kubernetes_container_make(run->engine, config, &run->job);
    const struct claim_terms terms = {
        .name = name,
        .pool = pool,
        .owner = environment->owner_name,
        .run_id = run->description.run_id,
        .marks = marks,
        .latest_s = latest_s,
    };
    return kubernetes_container_claim(run->engine, &terms, config, deadline_s - START_LIMIT_S,
                                      &run->job);
}

static void note_pod(struct run *run)
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
    note_pod(run);
    kubernetes_run(run)->asked_us = monotonic_us();
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
    kubernetes_run_make_container(run);
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

/* What the gateway refuses already: no run gets less than it was described to have. */
static const char *what_is_not_to_be_had(const struct run_description *description)
{
    if (description->network)
        return "give a pod's program a network";
    if (description->packages.path[0] != '\0')
        return "put packages into an image";
    return NULL;
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
    if (description->purpose == RUN_PURPOSE_SWEEP || check_image(&description->image, &fault))
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

/* A line that was sent is not sent again: an empty one means that it goes on. */
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
    const struct kubernetes_run *own = kubernetes_run(run);
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
    tell(run, kubernetes_container_reason(kubernetes_container(run->container)));
    run->deadline_us = now + TICK_US;
    return true;
}
