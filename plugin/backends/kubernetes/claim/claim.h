/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pod of a warm pool of agent-sandbox, from the claim that asks for one to the claim's removal:
 *   claim -> bound -> its sandbox is ours -> its pod, read back -> ready -> (attach) -> bind
 *   -> end -> remove
 * The controller gives the claim a sandbox. Only the uids of both show whose pod it is. The
 * bind, after the attach, proves that the stream is that pod's. From then on it is handled as any
 * pod (pod/pods.h). Runs in the kubernetes backend, single-threaded; no function here waits.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "backends/kubernetes/api/api_client.h"
#include "backends/kubernetes/claim/claim_config.h"
#include "backends/kubernetes/claim/claim_state.h"
#include "backends/kubernetes/pod/pods.h"

struct claim;

struct claim_order {
    struct api_client *client; /* borrowed, as the next two: they outlive the claim */
    const struct api_server *server;
    struct pods *pods;
    struct claim_terms terms; /* borrowed by claim_make() alone */
    json_t *pod; /* the configuration of a pod of our own, without a deadline: claim_expect_pod();
                    taken */
    uint64_t life_s; /* how long the run may use the pod, from its bind on */
};

/* Begins to ask for a pod. The events are those of a pod: "ready": it can be attached to, and its
 * name is known (claim_pod()); "claimed": it is bound. They may remove the claim, but not free it,
 * unless it is removed. NULL when out of memory. */
struct claim *claim_make(const struct claim_order *order, const struct pod_events *events,
                         void *user);
/* Call it when the stream is attached: binds the pod to the run, if it is the pod that was read.
 * false when out of memory. */
bool claim_bind(struct claim *claim);
/* As pod_remove(): deletes the claim, and with it the objects that the controller made for it. */
bool claim_remove(struct claim *claim, bool is_dead);
/* Without a request. NULL is fine. */
void claim_free(struct claim *claim);

/* NULL: there is none yet. */
struct pod *claim_pod(const struct claim *claim);
bool claim_is_asking(const struct claim *claim);
/* What one that is not ready yet waits for. */
const char *claim_reason(const struct claim *claim);
void claim_explain_wait(const struct claim *claim, struct api_fault *ret);

/* Deletes the claims of gateways that have certainly ended, as pods_sweep_start(). */
struct pods_sweep *claims_sweep_start(struct pods *pods, const struct api_server *server,
                                      pods_swept *done, void *user);
