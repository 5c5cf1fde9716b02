/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the connection between a pod and the container of a run: see kubernetes_container.h. Runs in
 * the kubernetes backend. */
#include "backends/kubernetes/supervisor/kubernetes_container.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "backends/common/run_answer.h"
#include "backends/guest_runs/pool/pool.h"
#include "backends/kubernetes/supervisor/kubernetes_run.h"
#include "base/cleanup.h"

#define STATUS_KILLED (128 + SIGKILL)

_Static_assert(offsetof(struct kubernetes_container, container) == 0, "one address");

struct kubernetes_container *kubernetes_container(struct container *container)
{
    return (struct kubernetes_container *)container;
}

const struct pod *kubernetes_container_pod(const struct kubernetes_container *container)
{
    return container->claim ? claim_pod(container->claim) : container->pod;
}

const char *kubernetes_container_reason(const struct kubernetes_container *container)
{
    const struct pod *pod = kubernetes_container_pod(container);
    return pod ? pod_state(pod)->reason : claim_reason(container->claim);
}

void kubernetes_container_explain_wait(const struct kubernetes_container *container,
                                       struct api_fault *ret)
{
    if (container->claim)
        claim_explain_wait(container->claim, ret);
    else
        pod_explain_wait(container->pod, ret);
}

/* A running pod can be attached to; there is nothing to start. */
static void take_ready(void *user)
{
    struct container *container = user;
    container->running = true;
    if (!container->removing && !container_stream_open(container))
        container_fail(container, "attach to the pod");
}

/* A pod of our own pool belongs to the run from now on. For one of agent-sandbox's, it is certain
 * now that the stream is that pod's, and that the kubelet ends it in time. */
static void take_claimed(void *user)
{
    struct container *container = user;
    if (container->removing)
        return;
    if (container->job)
        kubernetes_run(container->job->run)->claimed_us = 0;
    if (!kubernetes_container(container)->claim) {
        if (container->held)
            pool_bound(container);
    } else if (!container->stream.open || container->stream.waiting) {
        container_fail(container,
                       "the pod's guest sent data before it was called, or its stream has ended");
    } else {
        container->held = false;
        network_check_call(container);
    }
}

/* Problems of this pod alone, not of the cluster or the connection. */
static bool is_of_this_pod(unsigned int problem)
{
    static const enum api_problem problems[] = {
        API_PROBLEM_QUOTA,    API_PROBLEM_NO_IMAGE, API_PROBLEM_NO_ROOM,   API_PROBLEM_NOT_STARTED,
        API_PROBLEM_POD_GONE, API_PROBLEM_TAKEN,    API_PROBLEM_NO_CLAIMS, API_PROBLEM_NO_POOL,
        API_PROBLEM_UNBOUND,  API_PROBLEM_TEMPLATE};
    for (size_t i = 0; i < COUNT_OF(problems); i++)
        if (problems[i] == problem)
            return true;
    return false;
}

/* If claims are refused, waiting pods are of no use. */
static void note_refused_claim(const struct container *container, unsigned int problem)
{
    if (container->held && container->warm && problem != API_PROBLEM_TAKEN &&
        problem != API_PROBLEM_POD_GONE)
        container->engine->no_claims_until_us = monotonic_us() + CLUSTER_NO_CLAIMS_US;
}

static void fail_by(struct container *container, const struct engine_fault *fault)
{
    if (is_of_this_pod(fault->problem))
        container_fail_alone(container, RUN_FAILURE_BACKEND, fault);
    else
        container_fail_engine(container, fault);
}

static void take_failure(void *user, const struct api_fault *fault)
{
    struct container *container = user;
    const struct engine_fault same = cluster_fault(fault);
    if (container->removing)
        return;
    note_refused_claim(container, fault->problem);
    fail_by(container, &same);
}

/* The pod was ended from outside, so it is unknown how far its program came. */
static bool was_taken_away(const struct pod_end *end)
{
    return end->exit_code < 0 || end->deadline;
}

static void take_end(void *user, const struct pod_end *end)
{
    struct container *container = user;
    if (container->removing)
        return;
    if (was_taken_away(end) && !container->end.reported) {
        struct engine_fault fault;
        engine_fault_set(&fault, API_PROBLEM_POD_GONE, "the pod was ended from outside: %s%s%.150s",
                         end->reason, end->message[0] ? ": " : "", end->message);
        fail_by(container, &fault);
        return;
    }
    container->end.status = end->exit_code;
    container->end.memory_killed = end->memory_killed;
    container->waited = container->looked = true;
    container_check_end(container);
}

static void take_removal(void *user, const struct api_fault *fault)
{
    struct container *container = user;
    if (fault)
        container_not_removed(container);
    else
        container_removed(container);
}

static const struct pod_events pod_events = {
    .ready = take_ready,
    .claimed = take_claimed,
    .failed = take_failure,
    .ended = take_end,
    .removed = take_removal,
};

static const char *name_in(const json_t *config)
{
    return json_string_value(json_object_get(json_object_get(config, "metadata"), "name"));
}

struct container *kubernetes_container_make(struct engine *cluster, json_t *config,
                                            struct container_job *job, struct warm_pool *warm_pool)
{
    json_auto_t *given = config;
    struct kubernetes_container *own = calloc(1, sizeof(*own));
    if (!own)
        return NULL;
    container_begin(&own->container, &cluster->environment->guests, cluster, job, warm_pool);
    if (warm_pool)
        own->container.deadline_us = own->container.made_us + POD_START_LIMIT_US;
    (void)snprintf(own->container.name, sizeof(own->container.name), "%s", name_in(given));
    own->pod = pod_make(cluster->pods, TAKE_POINTER(given), &pod_events, &own->container);
    if (!own->pod) {
        container_free(&own->container);
        return NULL;
    }
    container_add(&own->container);
    return &own->container;
}

struct container *kubernetes_container_claim(struct engine *cluster,
                                             const struct claim_terms *terms, json_t *config,
                                             uint64_t life_s, struct container_job *job)
{
    json_auto_t *given = config;
    struct kubernetes_container *own = calloc(1, sizeof(*own));
    if (!own)
        return NULL;
    const struct claim_order order = {
        .client = cluster->environment->client,
        .server = &cluster->server,
        .pods = cluster->pods,
        .terms = *terms,
        .pod = json_incref(given),
        .life_s = life_s,
    };
    container_begin(&own->container, &cluster->environment->guests, cluster, job, NULL);
    (void)snprintf(own->container.name, sizeof(own->container.name), "%s", terms->name);
    own->container.held = true; /* until its pod is bound */
    own->claim = claim_make(&order, &pod_events, &own->container);
    if (!own->claim) {
        container_free(&own->container);
        return NULL;
    }
    container_add(&own->container);
    return &own->container;
}

/* The pod has started already, and its guest waits to be called. The guest of a claimed pod is
 * called when the pod is bound to the run. */
void kubernetes_container_start(struct container *container)
{
    struct claim *claim = kubernetes_container(container)->claim;
    if (!claim)
        network_check_call(container);
    else if (!claim_bind(claim))
        container_fail(container, "bind the pod");
}

/* The watch reports the end, and there is no other source. */
void kubernetes_container_read_end(struct container *container)
{
    (void)container;
}

bool kubernetes_container_is_asking(const struct container *container)
{
    const struct kubernetes_container *own = (const struct kubernetes_container *)container;
    return own->claim ? claim_is_asking(own->claim) : pod_is_asking(own->pod);
}

void kubernetes_container_stop_asking(struct container *container)
{
    (void)container;
}

/* No program exists before the guest gets a byte of the message, and after it has reported the end.
 */
bool kubernetes_container_remove(struct container *container)
{
    bool is_dead = container->end.reported || container->stream.sender.total == 0;
    struct kubernetes_container *own = kubernetes_container(container);
    return own->claim ? claim_remove(own->claim, is_dead) : pod_remove(own->pod, is_dead);
}

/* A pod that is being deleted ends soon. Of another one, the verdict about its network may be too
 * old. */
bool kubernetes_container_is_current(const struct container *container)
{
    const struct pod *pod =
        kubernetes_container_pod((const struct kubernetes_container *)container);
    return !pod || (!pod_state(pod)->deleting && network_check_is_fresh(container));
}

/* The cluster reports an end a second or more late. Its report is needed only if a process was
 * killed: that may have been for want of memory. */
bool kubernetes_container_asks_after(const struct container_end *end)
{
    int status = (int)end->program.wait_status;
    return !end->reported || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
           (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_KILLED);
}

void kubernetes_container_free(struct container *container)
{
    struct kubernetes_container *own = kubernetes_container(container);
    pod_free(own->pod);
    claim_free(own->claim);
    explicit_bzero(own, sizeof(*own)); /* output of its program */
    free(own);
}
