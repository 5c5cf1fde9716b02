/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the requests about one pod: its making, its claim and its removal. See pods.h. Runs in the
 * kubernetes backend. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/run_answer.h"
#include "backends/kubernetes/pod/pods_private.h"
#include "base/cleanup.h"

#define STATUS_NOT_FOUND  404
#define STATUS_CONFLICT   409
#define STATUS_INVALID    422
#define LOOK_PAUSE_MS     1000 /* between looks at a pod that its node is to end */
#define LOOKS_MOST        20
#define CONFLICT_PAUSE_MS 200 /* before its making is asked for again */
#define CONFLICTS_MOST    10
#define KILL_GRACE_S      1 /* 0 would take the pod out of the API while its program goes on */

static const char *const json_patch = "application/json-patch+json";

static api_done take_created, take_found, take_claimed, take_removal, take_look;

/* The path of one pod, or of the collection that pods are made in ("" as name). false when out of
 * memory. */
static bool ask_server(struct pod *pod, const char *method, const char *name,
                       const char *content_type, const json_t *body, uint64_t delay_ms,
                       api_done *done)
{
    char path[API_PATH_LIMIT];
    CLEANUP_FREE char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    (void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods%s%s", pod->pods->name_space,
                   name[0] ? "/" : "", name);
    const struct api_request request = {
        .server = pod->pods->server,
        .method = method,
        .path = path,
        .body = text,
        .content_type = content_type,
        .timeout_ms = API_TIME_MS,
        .delay_ms = delay_ms,
        .done = done,
        .user = pod,
    };
    if (body && !text)
        return false;
    api_call_cancel(TAKE_POINTER(pod->call));
    pod->call = api_call_start(pod->pods->client, &request);
    return pod->call;
}

bool pod_request_creation(struct pod *pod)
{
    pod->is_creating = ask_server(pod, "POST", "", NULL, pod->config, 0, take_created);
    return pod->is_creating;
}

/* Takes the pod in an answer, if it has the requested name. */
static void take_pod(struct pod *pod, const json_t *object)
{
    struct pod_state state;
    struct api_fault fault;
    if (pod_state_read(object, &state) && strcmp(state.name, pod->name) == 0) {
        pods_take(pod->pods, object, &state, false);
        return;
    }
    api_fault_set(&fault, API_PROBLEM_SILENT, "the API server's answer is not that pod");
    pod_fail(pod, &fault);
}

/* The order to remove it has waited for the answer. */
static void remove_made(struct pod *pod)
{
    struct api_fault fault;
    if (pod_remove(pod, pod->is_dead))
        return;
    api_fault_set(&fault, API_PROBLEM_SILENT, "no memory to remove the pod");
    pod_tell_removed(pod, &fault);
}

static void end_creation(struct pod *pod, const struct api_answer *answer)
{
    struct api_fault fault;
    pod->is_creating = false;
    if (pod->is_removing) {
        remove_made(pod);
        return;
    }
    json_auto_t *object = api_answer_take(answer, "create the pod", &fault);
    if (object)
        take_pod(pod, object);
    else
        pod_fail(pod, &fault);
}

/* true: asked for again. */
static bool make_again(struct pod *pod, const struct api_answer *answer)
{
    return api_answer_is_passing_conflict(answer) && !pod->is_removing &&
           pod->conflicts++ < CONFLICTS_MOST &&
           ask_server(pod, "POST", "", NULL, pod->config, CONFLICT_PAUSE_MS, take_created);
}

/* Names are random, so a pod that has the name already was made by this request, and the first
 * answer was lost. */
static void take_created(void *user, const struct api_answer *answer)
{
    struct pod *pod = user;
    pod->call = NULL;
    if (make_again(pod, answer))
        return;
    if (answer->fault.problem == API_PROBLEM_NONE && answer->status == STATUS_CONFLICT &&
        !api_answer_is_passing_conflict(answer) &&
        ask_server(pod, "GET", pod->name, NULL, NULL, 0, take_found))
        return;
    pod->is_refused = api_answer_is_refusal(answer);
    end_creation(pod, answer);
}

static void take_found(void *user, const struct api_answer *answer)
{
    struct pod *pod = user;
    pod->call = NULL;
    end_creation(pod, answer);
}

bool pod_claim(struct pod *pod, const char *run_id, int64_t latest, uint64_t wall_s)
{
    json_auto_t *patch = NULL;
    uint64_t age_s = (monotonic_us() - pod->made_us) / 1000000 + 1;
    json_decref(TAKE_POINTER(pod->claimed_config));
    if (!pod_claim_write(pod->config, pod->state.uid, run_id, latest, age_s + wall_s + POD_MARGIN_S,
                         &patch, &pod->claimed_config))
        return false;
    pod->is_creating = false; /* the watch may report it first; the answer is not needed then */
    return ask_server(pod, "PATCH", pod->name, json_patch, patch, 0, take_claimed);
}

bool pod_bind(struct pod *pod, const json_t *patch, json_t *bound)
{
    json_decref(pod->claimed_config);
    pod->claimed_config = bound;
    return ask_server(pod, "PATCH", pod->name, json_patch, patch, 0, take_claimed);
}

/* The answer to a failed test of the patch is that to an invalid pod, without details. */
static bool is_taken(const struct api_answer *answer)
{
    json_auto_t *status = json_loadb(answer->body, answer->length, 0, NULL);
    return answer->status == STATUS_INVALID &&
           json_object_size(json_object_get(status, "details")) == 0;
}

static void explain_claim(const struct pod *pod, const struct api_answer *answer,
                          struct api_fault *fault)
{
    if (answer->fault.problem != API_PROBLEM_NONE)
        return;
    if (answer->status == STATUS_NOT_FOUND)
        api_fault_set(fault, API_PROBLEM_POD_GONE, "the pod %s was deleted from outside",
                      pod->name);
    else if (is_taken(answer))
        api_fault_set(fault, API_PROBLEM_TAKEN, "the pod %s is already taken", pod->name);
}

/* state: an end in it is reported by the watch's event of the same version. */
static void keep_claim(struct pod *pod, const struct pod_state *state)
{
    json_decref(pod->config);
    pod->config = TAKE_POINTER(pod->claimed_config);
    pod->name =
        json_string_value(json_object_get(json_object_get(pod->config, "metadata"), "name"));
    pod->state = *state;
    if (pod->is_unbound)
        pod->round = pod->pods->watch.round; /* a list that is under way may be older */
    pod->is_unbound = false;
}

/* Is what was claimed the pod that waited, whole and still there? */
static bool check_claim(const struct pod *pod, const json_t *object, struct pod_state *ret_state,
                        struct api_fault *fault)
{
    char field[100] = "";
    if (!pod_state_read(object, ret_state) || strcmp(ret_state->name, pod->name) != 0 ||
        strcmp(ret_state->uid, pod->state.uid) != 0)
        return api_fault_set(fault, API_PROBLEM_ALTERED,
                             "the API server's answer to a claim is not that pod");
    if (!pod_attest(pod->claimed_config, object, field, sizeof(field)))
        return api_fault_set(
            fault, API_PROBLEM_ALTERED,
            "the pod that was claimed is not the one that was requested: %s differs", field);
    if (ret_state->deleting || !ret_state->running)
        return api_fault_set(fault, API_PROBLEM_POD_GONE, "the pod %s ends", pod->name);
    return true;
}

static void take_claimed(void *user, const struct api_answer *answer)
{
    struct pod *pod = user;
    struct api_fault fault;
    struct pod_state state;
    pod->call = NULL;
    if (pod->is_removing || pod->has_failed || pod->has_ended)
        return;
    json_auto_t *object = api_answer_take(answer, "claim the pod", &fault);
    if (!object) {
        explain_claim(pod, answer, &fault);
        pod_fail(pod, &fault);
        return;
    }
    if (!check_claim(pod, object, &state, &fault)) {
        pod_fail(pod, &fault);
        return;
    }
    keep_claim(pod, &state);
    pod->events->claimed(pod->user);
}

static bool ask_removal(struct pod *pod, int grace_s)
{
    const char *uid = pod->state.uid;
    json_auto_t *body = json_pack("{s:s, s:s, s:i, s:o*}", "apiVersion", "v1", "kind",
                                  "DeleteOptions", "gracePeriodSeconds", grace_s, "preconditions",
                                  uid[0] ? json_pack("{s:s}", "uid", uid) : NULL);
    return body && ask_server(pod, "DELETE", pod->name, NULL, body, 0, take_removal);
}

bool pod_request_removal(struct pod *pod)
{
    return ask_removal(pod, pod->is_dead ? 0 : KILL_GRACE_S);
}

/* The pod is gone, or its name belongs to another pod. */
static bool is_away(const struct api_answer *answer)
{
    return answer->fault.problem == API_PROBLEM_NONE &&
           (answer->status == STATUS_NOT_FOUND || answer->status == STATUS_CONFLICT);
}

static bool look_again(struct pod *pod)
{
    return ask_server(pod, "GET", pod->name, NULL, NULL, LOOK_PAUSE_MS, take_look);
}

static void take_removal(void *user, const struct api_answer *answer)
{
    struct pod *pod = user;
    struct api_fault fault;
    pod->call = NULL;
    if (is_away(answer)) {
        pod_take_loss(pod);
        return;
    }
    json_auto_t *object = api_answer_take(answer, "delete the pod", &fault);
    if (!object)
        pod_tell_removed(pod, &fault);
    else if (pod->is_dead || pod->is_gone)
        pod_take_loss(pod);
    else if (!look_again(pod))
        pod_tell_removed(pod, NULL);
}

/* The node does not answer, perhaps for ever. The pod is deleted from the API, which stops none of
 * its processes; "removed" reports that as a fault. */
static void force_removal(struct pod *pod)
{
    struct api_fault fault;
    api_fault_set(&fault, API_PROBLEM_SILENT,
                  "the node %.60s does not confirm the end of the pod %.80s", pod->state.node,
                  pod->name);
    pod->is_dead = true; /* for the next attempt */
    pod_tell_removed(pod, &fault);
}

static void take_look(void *user, const struct api_answer *answer)
{
    struct pod *pod = user;
    struct pod_state state;
    pod->call = NULL;
    json_auto_t *object = json_loadb(answer->body, answer->length, 0, NULL);
    bool is_other = answer->status == 200 && pod_state_read(object, &state) &&
                    pod->state.uid[0] != '\0' && strcmp(state.uid, pod->state.uid) != 0;
    if (is_away(answer) || is_other)
        pod_take_loss(pod);
    else if (++pod->looks >= LOOKS_MOST || !look_again(pod))
        force_removal(pod);
}
