/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the pods of a gateway, and the effect of the server's events on them: see pods.h. Runs in
 * the kubernetes backend. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/run_answer.h"
#include "backends/kubernetes/pod/pods_private.h"
#include "base/cleanup.h"

struct pods *pods_new(struct api_client *client, const struct api_server *server,
                      const char *name_space, const char *owner)
{
    struct pods *pods = calloc(1, sizeof(*pods));
    if (!pods)
        return NULL;
    pods->client = client;
    pods->server = server;
    pods->name_space = strdup(name_space);
    pods->owner = strdup(owner);
    if (pods->name_space && pods->owner)
        return pods;
    pods_free(pods);
    return NULL;
}

void pods_free(struct pods *pods)
{
    while (pods->list)
        pod_free(pods->list);
    pods_watch_end(pods);
    free(pods->name_space);
    free(pods->owner);
    free(pods);
}

struct pod *pod_make(struct pods *pods, json_t *config, const struct pod_events *events, void *user)
{
    struct pod *pod = calloc(1, sizeof(*pod));
    if (!pod) {
        json_decref(config);
        return NULL;
    }
    pod->pods = pods;
    pod->config = config;
    pod->events = events;
    pod->user = user;
    pod->name = json_string_value(json_object_get(json_object_get(config, "metadata"), "name"));
    pod->made_us = monotonic_us();
    pod->next = pods->list;
    pods->list = pod;
    pods_watch_begin(pods);
    pod->round = pods->watch.round;
    if (pod->name && pod_request_creation(pod))
        return pod;
    pod_free(pod);
    return NULL;
}

struct pod *pod_adopt(struct pods *pods, json_t *config, const struct pod_state *state,
                      const struct pod_events *events, void *user)
{
    struct pod *pod = malloc(sizeof(*pod));
    if (!pod) {
        json_decref(config);
        return NULL;
    }
    *pod = (struct pod){
        .next = pods->list,
        .pods = pods,
        .events = events,
        .user = user,
        .config = config,
        .name = json_string_value(json_object_get(json_object_get(config, "metadata"), "name")),
        .state = *state,
        .is_ready = true,
        .is_unbound = true,
    };
    pods->list = pod;
    pods_watch_begin(pods);
    return pod;
}

void pod_free(struct pod *pod)
{
    if (!pod)
        return;
    struct pods *pods = pod->pods;
    struct pod **place = &pods->list;
    while (*place && *place != pod)
        place = &(*place)->next;
    if (*place)
        *place = pod->next;
    api_call_cancel(pod->call);
    json_decref(pod->config);
    json_decref(pod->claimed_config);
    free(pod);
}

const char *pod_name(const struct pod *pod)
{
    return pod->name;
}

const json_t *pod_config(const struct pod *pod)
{
    return pod->config;
}

const struct pod_state *pod_state(const struct pod *pod)
{
    return &pod->state;
}

bool pod_is_asking(const struct pod *pod)
{
    return pod->call;
}

void pod_fail(struct pod *pod, const struct api_fault *fault)
{
    if (pod->has_failed || pod->has_ended || pod->is_removing)
        return;
    pod->has_failed = true;
    pod->events->failed(pod->user, fault);
}

/* Each may free others of them. */
static struct pod *find_waiting(const struct pods *pods)
{
    struct pod *pod = pods->list;
    while (pod && (pod->is_ready || pod->has_failed || pod->is_removing))
        pod = pod->next;
    return pod;
}

void pods_fail_waiting(struct pods *pods, const struct api_fault *fault)
{
    for (struct pod *pod; (pod = find_waiting(pods));)
        pod_fail(pod, fault);
}

void pod_tell_removed(struct pod *pod, const struct api_fault *fault)
{
    api_call_cancel(TAKE_POINTER(pod->call));
    pod->events->removed(pod->user, fault);
}

/* As asked for, or as a claim under way asks for. */
static bool is_as_asked(const struct pod *pod, const json_t *object, char *field, size_t size)
{
    return pod_attest(pod->config, object, field, size) ||
           (pod->claimed_config && pod_attest(pod->claimed_config, object, field, size));
}

/* false: it is not as it was asked for, and has failed. */
static bool take_object(struct pod *pod, const json_t *object)
{
    char field[100] = "";
    struct api_fault fault;
    if (is_as_asked(pod, object, field, sizeof(field)))
        return true;
    api_fault_set(&fault, API_PROBLEM_ALTERED,
                  "the pod that the cluster made is not the one that was requested: %s differs",
                  field);
    pod_fail(pod, &fault);
    return false;
}

/* Why a pod does not start. */
static enum api_problem problem_of(const struct pod_state *state)
{
    static const struct {
        const char *reason;
        enum api_problem problem;
    } rows[] = {
        {"ErrImagePull", API_PROBLEM_NO_IMAGE},     {"ImagePullBackOff", API_PROBLEM_NO_IMAGE},
        {"InvalidImageName", API_PROBLEM_NO_IMAGE}, {"ErrImageNeverPull", API_PROBLEM_NO_IMAGE},
        {"Unschedulable", API_PROBLEM_NO_ROOM},     {"Evicted", API_PROBLEM_NO_ROOM},
        {"Preempting", API_PROBLEM_NO_ROOM},        {"OutOfcpu", API_PROBLEM_NO_ROOM},
        {"OutOfmemory", API_PROBLEM_NO_ROOM},       {"OutOfpods", API_PROBLEM_NO_ROOM},
        {"NodeAffinity", API_PROBLEM_NO_ROOM},      {"Terminated", API_PROBLEM_POD_GONE},
        {"NodeShutdown", API_PROBLEM_POD_GONE},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strcmp(rows[i].reason, state->reason) == 0)
            return rows[i].problem;
    return API_PROBLEM_NOT_STARTED;
}

void pod_explain_wait(const struct pod *pod, struct api_fault *ret)
{
    const struct pod_state *state = &pod->state;
    if (state->uid[0] == '\0')
        api_fault_set(ret, API_PROBLEM_SILENT, "the API server has not said that the pod is made");
    else if (state->reason[0] != '\0')
        api_fault_set(ret, problem_of(state), "the pod does not start: %s: %.150s", state->reason,
                      state->message);
    else if (state->node[0] == '\0')
        api_fault_set(ret, API_PROBLEM_NO_ROOM, "no node has taken the pod");
    else
        api_fault_set(ret, API_PROBLEM_NOT_STARTED, "the node %s has not started the pod",
                      state->node);
}

static void fail_start(struct pod *pod)
{
    struct api_fault fault;
    pod_explain_wait(pod, &fault);
    pod_fail(pod, &fault);
}

/* false: it has not ended, as far as is known. */
static bool read_end(const struct pod *pod, struct pod_end *ret)
{
    const struct pod_state *state = &pod->state;
    bool is_over = state->terminated || pod->is_gone || state->phase == POD_FAILED ||
                   state->phase == POD_SUCCEEDED;
    if (!is_over)
        return false;
    *ret = (struct pod_end){
        .exit_code = state->terminated ? state->exit_code : -1,
        .memory_killed = strcmp(state->reason, "OOMKilled") == 0,
        .deadline = strcmp(state->reason, "DeadlineExceeded") == 0,
    };
    (void)snprintf(ret->reason, sizeof(ret->reason), "%s",
                   state->reason[0] || state->terminated ? state->reason : "Deleted");
    (void)snprintf(ret->message, sizeof(ret->message), "%s", state->message);
    return true;
}

static void tell_end(struct pod *pod)
{
    struct pod_end end;
    if (pod->has_ended || pod->has_failed || pod->is_removing || !read_end(pod, &end))
        return;
    pod->has_ended = true;
    pod->events->ended(pod->user, &end);
}

void pod_take_loss(struct pod *pod)
{
    struct api_fault fault;
    pod->is_gone = true;
    if (pod->is_removing) {
        if (!pod->is_creating)
            pod_tell_removed(pod, NULL);
        return;
    }
    if (pod->is_ready) {
        tell_end(pod);
        return;
    }
    api_fault_set(&fault, API_PROBLEM_POD_GONE, "the pod %s was deleted from outside", pod->name);
    pod_fail(pod, &fault);
}

/* Acts on the state that is known now. */
static void judge(struct pod *pod)
{
    if (pod->is_removing || pod->has_failed)
        return;
    if (pod->is_ready) {
        tell_end(pod);
    } else if (pod->state.running && !pod->state.deleting) {
        pod->is_ready = true;
        pod->events->ready(pod->user);
    } else if (pod_state_is_hopeless(&pod->state)) {
        fail_start(pod);
    }
}

/* Versions are decimal numbers that grow (KEP-5504). A version that is not a number counts as
 * newer. */
static bool is_older(const char *version, const char *known)
{
    size_t length = strlen(version);
    size_t known_length = strlen(known);
    if (known_length == 0 || strspn(version, "0123456789") != length)
        return false;
    return length != known_length ? length < known_length : strcmp(version, known) < 0;
}

static struct pod *find_pod(const struct pods *pods, const struct pod_state *state)
{
    struct pod *pod = pods->list;
    while (pod && strcmp(pod->name, state->name) != 0)
        pod = pod->next;
    return pod;
}

void pods_take(struct pods *pods, const json_t *object, const struct pod_state *state,
               bool is_deleted)
{
    struct pod *pod = find_pod(pods, state);
    if (!pod || (pod->state.uid[0] != '\0' && strcmp(pod->state.uid, state->uid) != 0))
        return;
    pod->is_listed = true;
    if (is_older(state->version, pod->state.version))
        return;
    if (!is_deleted && !pod->is_removing && !take_object(pod, object))
        return;
    pod->state = *state;
    if (is_deleted)
        pod_take_loss(pod);
    else
        judge(pod);
}

bool pod_remove(struct pod *pod, bool is_dead)
{
    pod->is_removing = true;
    pod->is_dead = is_dead;
    pod->looks = 0;
    if (pod->is_creating)
        return true; /* by the answer */
    if (pod->is_refused && pod->state.uid[0] == '\0') {
        pod_tell_removed(pod, NULL);
        return true;
    }
    return pod_request_removal(pod);
}
