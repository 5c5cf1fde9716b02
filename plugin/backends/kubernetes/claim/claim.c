/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the life of a claim, and the effect of the server's events on it: see claim.h. Runs in the
 * kubernetes backend. */
#include <stdlib.h>
#include <string.h>

#include "backends/common/run_answer.h"
#include "backends/kubernetes/claim/claim_private.h"
#include "base/cleanup.h"

static const char *text_in(const json_t *object, const char *part, const char *name)
{
    return json_string_value(json_object_get(json_object_get(object, part), name));
}

static bool read_names(struct claim *claim)
{
    const json_t *metadata = json_object_get(claim->body, "metadata");
    claim->name = json_string_value(json_object_get(metadata, "name"));
    claim->owner = text_in(metadata, "labels", POD_LABEL_OWNER);
    claim->run_id = text_in(metadata, "labels", POD_LABEL_RUN);
    claim->pool = text_in(json_object_get(claim->body, "spec"), "warmPoolRef", "name");
    return claim->name && claim->owner && claim->run_id && claim->pool;
}

struct claim *claim_make(const struct claim_order *order, const struct pod_events *events,
                         void *user)
{
    struct claim *claim = malloc(sizeof(*claim));
    if (!claim) {
        json_decref(order->pod);
        return NULL;
    }
    *claim = (struct claim){
        .client = order->client,
        .server = order->server,
        .pods = order->pods,
        .events = events,
        .user = user,
        .body = claim_write(&order->terms),
        .asked = order->pod,
        .life_s = order->life_s,
        .asked_us = monotonic_us(),
    };
    if (claim->body && read_names(claim) && claim_request_creation(claim))
        return claim;
    claim_free(claim);
    return NULL;
}

void claim_free(struct claim *claim)
{
    if (!claim)
        return;
    api_call_cancel(claim->call);
    pod_free(claim->pod);
    json_decref(claim->body);
    json_decref(claim->asked);
    free(claim);
}

struct pod *claim_pod(const struct claim *claim)
{
    return claim->pod;
}

bool claim_is_asking(const struct claim *claim)
{
    return claim->call || (claim->pod && pod_is_asking(claim->pod));
}

const char *claim_reason(const struct claim *claim)
{
    return claim->state.reason;
}

void claim_explain_wait(const struct claim *claim, struct api_fault *ret)
{
    if (claim->pod)
        pod_explain_wait(claim->pod, ret);
    else if (claim->state.uid[0] == '\0')
        api_fault_set(ret, API_PROBLEM_SILENT,
                      "the API server has not said that the claim is made");
    else if (!claim->is_bound)
        claim_state_explain(&claim->state, claim->pool, ret);
    else
        api_fault_set(ret, API_PROBLEM_UNBOUND,
                      "the claim of the warm pool %.63s has a sandbox whose pod does not run",
                      claim->pool);
}

void claim_fail(struct claim *claim, const struct api_fault *fault)
{
    if (claim->has_failed || claim->is_removing)
        return;
    claim->has_failed = true;
    api_call_cancel(TAKE_POINTER(claim->call));
    claim->events->failed(claim->user, fault);
}

void claim_fail_memory(struct claim *claim)
{
    struct api_fault fault;
    api_fault_set(&fault, API_PROBLEM_SILENT, "no memory to ask about the claim or its pod");
    claim_fail(claim, &fault);
}

void claim_take_loss(struct claim *claim)
{
    struct api_fault fault;
    api_fault_set(&fault, API_PROBLEM_POD_GONE, "the claim %s was deleted from outside",
                  claim->name);
    claim_fail(claim, &fault);
}

/* Nobody has changed what was asked for. */
static bool is_as_asked(struct claim *claim, const json_t *object)
{
    char field[100] = "";
    struct api_fault fault;
    if (claim_attest(claim->body, object, field, sizeof(field)))
        return true;
    api_fault_set(&fault, API_PROBLEM_ALTERED,
                  "the claim that the cluster made is not the one that was requested: %s differs",
                  field);
    claim_fail(claim, &fault);
    return false;
}

void claim_take(struct claim *claim, const json_t *object)
{
    struct claim_state state;
    struct api_fault fault;
    if (!claim_state_read(object, &state) || strcmp(state.name, claim->name) != 0) {
        api_fault_set(&fault, API_PROBLEM_SILENT, "the API server's answer is not that claim");
        claim_fail(claim, &fault);
        return;
    }
    if (state.deleting || (claim->state.uid[0] && strcmp(claim->state.uid, state.uid) != 0)) {
        claim_take_loss(claim);
        return;
    }
    if (!is_as_asked(claim, object))
        return;
    claim->state = state;
    if (state.word == CLAIM_REFUSED) {
        claim_state_explain(&state, claim->pool, &fault);
        claim_fail(claim, &fault);
    } else if (state.word == CLAIM_BOUND) {
        claim->is_bound = true;
    }
}

bool claim_bind(struct claim *claim)
{
    json_auto_t *patch = NULL;
    json_auto_t *bound = NULL;
    int64_t age_s = claim->state.created_s - claim->pod_began_s; /* both by the cluster's clocks */
    uint64_t since_s = (monotonic_us() - claim->asked_us) / 1000000 + 2; /* both are whole */
    uint64_t deadline_s = (age_s > 0 ? (uint64_t)age_s : 0) + since_s + claim->life_s;
    return claim_bind_write(claim->asked, pod_state(claim->pod)->uid, claim->owner, claim->run_id,
                            deadline_s + POD_MARGIN_S, &patch, &bound) &&
           pod_bind(claim->pod, patch, TAKE_POINTER(bound));
}

/* If the program may be alive, the pod's node has to confirm its end. Once the claim is deleted,
 * the controller makes the pod anew for a moment at most. */
void claim_take_removal(struct claim *claim, const struct api_fault *fault)
{
    bool waits_for_node = claim->pod && !claim->is_dead;
    if (fault)
        claim->not_removed = *fault;
    if (!waits_for_node) {
        claim->events->removed(claim->user, fault);
    } else if (!pod_remove(claim->pod, false)) {
        api_fault_set(&claim->not_removed, API_PROBLEM_SILENT, "no memory to remove the pod");
        claim->events->removed(claim->user, &claim->not_removed);
    }
}

static void take_claimed(void *user)
{
    const struct claim *claim = user;
    claim->events->claimed(claim->user);
}

static void take_failure(void *user, const struct api_fault *fault)
{
    claim_fail(user, fault);
}

static void take_end(void *user, const struct pod_end *end)
{
    const struct claim *claim = user;
    if (!claim->is_removing)
        claim->events->ended(claim->user, end);
}

/* Behind the answer about the claim. */
static void take_removed(void *user, const struct api_fault *fault)
{
    const struct claim *claim = user;
    bool is_left = claim->not_removed.problem != API_PROBLEM_NONE;
    claim->events->removed(claim->user, is_left ? &claim->not_removed : fault);
}

/* It is ready when it is adopted. */
const struct pod_events claim_pod_events = {
    .claimed = take_claimed,
    .failed = take_failure,
    .ended = take_end,
    .removed = take_removed,
};

bool claim_remove(struct claim *claim, bool is_dead)
{
    claim->is_removing = true;
    claim->is_dead = is_dead;
    claim->not_removed.problem = API_PROBLEM_NONE;
    if (claim->is_creating)
        return true; /* by the answer */
    if (claim->is_refused && claim->state.uid[0] == '\0') {
        claim_take_removal(claim, NULL);
        return true;
    }
    return claim_request_removal(claim);
}

struct pods_sweep *claims_sweep_start(struct pods *pods, const struct api_server *server,
                                      pods_swept *done, void *user)
{
    char path[API_PATH_LIMIT / 2];
    (void)snprintf(path, sizeof(path), "/apis/" CLAIM_GROUP "/v1beta1/namespaces/%s/sandboxclaims",
                   server->name_space);
    return pods_sweep_objects(pods, path, done, user);
}
