/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the steps from a bound claim to its pod: see claim.h. Runs in the kubernetes backend. */
#include <stdio.h>
#include <string.h>

#include "backends/kubernetes/claim/claim_private.h"
#include "base/cleanup.h"

#define STATUS_NOT_FOUND 404
#define PAUSE_MS         200 /* between looks at a pod that does not run yet */

static api_done take_sandbox, take_pod;

void claim_look(struct claim *claim)
{
    char path[API_PATH_LIMIT];
    (void)snprintf(path, sizeof(path), "/apis/" SANDBOX_GROUP "/v1beta1/namespaces/%s/sandboxes/%s",
                   claim->server->name_space, claim->state.sandbox);
    if (!claim_ask(claim, "GET", path, NULL, 0, take_sandbox))
        claim_fail_memory(claim);
}

static void ask_for_pod(struct claim *claim, uint64_t delay_ms)
{
    char path[API_PATH_LIMIT];
    (void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s", claim->server->name_space,
                   claim->pod_name);
    if (!claim_ask(claim, "GET", path, NULL, delay_ms, take_pod))
        claim_fail_memory(claim);
}

static void take_sandbox(void *user, const struct api_answer *answer)
{
    struct claim *claim = user;
    struct api_fault fault;
    claim->call = NULL;
    json_auto_t *sandbox = api_answer_take(answer, "show the claim's sandbox", &fault);
    if (!sandbox) {
        claim_fail(claim, &fault);
    } else if (!claim_sandbox_read(sandbox, claim->state.uid, claim->sandbox_uid,
                                   claim->pod_name)) {
        api_fault_set(&fault, API_PROBLEM_TAKEN,
                      "the sandbox %.100s that the claim names is not that claim's",
                      claim->state.sandbox);
        claim_fail(claim, &fault);
    } else {
        ask_for_pod(claim, 0);
    }
}

/* The configuration that the pod must keep. NULL: the pod is not fit, and the claim has failed. */
static json_t *judge_pod(struct claim *claim, const json_t *pod)
{
    char field[100] = "";
    struct api_fault fault;
    if (!claim_pod_is_of(pod, claim->sandbox_uid)) {
        api_fault_set(&fault, API_PROBLEM_TAKEN,
                      "the pod %.100s is not that of the claim's sandbox", claim->pod_name);
        claim_fail(claim, &fault);
        return NULL;
    }
    json_t *config = claim_expect_pod(claim->asked, pod, field, sizeof(field));
    if (config)
        return config;
    api_fault_set(&fault, API_PROBLEM_TEMPLATE,
                  "a pod of the warm pool %.63s is not as this run needs it: %s differs",
                  claim->pool, field[0] ? field : "its configuration");
    claim_fail(claim, &fault);
    return NULL;
}

static void adopt(struct claim *claim, json_t *config, const json_t *object,
                  const struct pod_state *state)
{
    struct api_fault fault;
    json_auto_t *taken = config;
    const json_t *began = json_object_get(json_object_get(object, "status"), "startTime");
    claim->pod_began_s = claim_time_read(json_string_value(began));
    if (claim->pod_began_s == 0 || claim->state.created_s == 0) {
        api_fault_set(&fault, API_PROBLEM_SILENT,
                      "the API server does not say when claim and pod began");
        claim_fail(claim, &fault);
        return;
    }
    claim->pod = pod_adopt(claim->pods, json_incref(taken), state, &claim_pod_events, claim);
    if (!claim->pod) {
        claim_fail_memory(claim);
        return;
    }
    json_decref(claim->asked);
    claim->asked = TAKE_POINTER(taken);
    claim->events->ready(claim->user);
}

/* A claim may be bound to a pod that does not run yet, or no longer. */
static void take_state(struct claim *claim, const json_t *object, const struct pod_state *state)
{
    struct api_fault fault;
    json_t *config = judge_pod(claim, object);
    if (!config)
        return;
    if (state->running && !state->deleting) {
        adopt(claim, config, object, state);
        return;
    }
    json_decref(config);
    if (state->deleting || pod_state_is_hopeless(state)) {
        api_fault_set(&fault, API_PROBLEM_NOT_STARTED, "the claim's pod does not run: %s: %.150s",
                      state->reason, state->message);
        claim_fail(claim, &fault);
    } else {
        ask_for_pod(claim, PAUSE_MS);
    }
}

static void take_pod(void *user, const struct api_answer *answer)
{
    struct claim *claim = user;
    struct pod_state state;
    struct api_fault fault;
    claim->call = NULL;
    json_auto_t *object = api_answer_take(answer, "show the claim's pod", &fault);
    if (answer->fault.problem == API_PROBLEM_NONE && answer->status == STATUS_NOT_FOUND) {
        ask_for_pod(claim, PAUSE_MS); /* it is made anew, or the run's time passes */
    } else if (!object) {
        claim_fail(claim, &fault);
    } else if (!pod_state_read(object, &state) || strcmp(state.name, claim->pod_name) != 0) {
        api_fault_set(&fault, API_PROBLEM_SILENT, "the API server's answer is not that pod");
        claim_fail(claim, &fault);
    } else {
        take_state(claim, object, &state);
    }
}
