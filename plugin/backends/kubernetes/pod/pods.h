/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods of one gateway in one namespace of a cluster. A pod serves one run:
 *   make -> read back, here and with each word of the server -> ready -> (claim) -> end -> remove
 * One watch tells of all of them. A pod that is not as it was asked for, at any time, has failed.
 * Runs in the kubernetes backend, single-threaded; no function here waits.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "backends/kubernetes/api/api_client.h"
#include "backends/kubernetes/pod/pod_config.h"
#include "backends/kubernetes/pod/pod_state.h"

#define POD_MARGIN_S 30 /* from a run's own end to the one that the kubelet makes */

struct pods;
struct pod;

/* How its container ended, as the cluster says. */
struct pod_end {
    int exit_code; /* of the first process; -1: not known (the pod is gone) */
    bool memory_killed;
    bool deadline;                     /* the kubelet has ended it, by activeDeadlineSeconds */
    char reason[POD_REASON_LIMIT + 1]; /* "OOMKilled", "Error", "Evicted", ... */
    char message[POD_MESSAGE_LIMIT + 1];
};

/* Each is called with the pod's user, and may remove or free the pod. Behind "failed" and "ended"
 * the pod still exists. */
struct pod_events {
    /* Its container runs, and it is as it was asked for: it can be attached to. */
    void (*ready)(void *user);
    /* The claim was granted, and the pod is as it was asked for then. */
    void (*claimed)(void *user);
    void (*failed)(void *user, const struct api_fault *fault);
    /* Of one that was ready. */
    void (*ended)(void *user, const struct pod_end *end);
    /* The answer to pod_remove(); NULL: the pod is gone. */
    void (*removed)(void *user, const struct api_fault *fault);
};

/* All borrowed but the texts: client and server outlive it. owner: a label's value, the same in all
 * of its pods, by which the watch finds them. NULL when out of memory. */
struct pods *pods_new(struct api_client *client, const struct api_server *server,
                      const char *name_space, const char *owner);
/* Frees the pods too, without a request. */
void pods_free(struct pods *pods);

/* Begins to make one with that configuration (taken; pod_config_for_run()). NULL when out of
 * memory. */
struct pod *pod_make(struct pods *pods, json_t *config, const struct pod_events *events,
                     void *user);
/* A running pod that others made, in the state that the server has reported. config (taken): how it
 * must stay. Nobody tells of it until it is bound. NULL when out of memory. */
struct pod *pod_adopt(struct pods *pods, json_t *config, const struct pod_state *state,
                      const struct pod_events *events, void *user);
/* Binds it to a run by that PATCH, which gives it the label of the owner; bound (taken): how it is
 * to be then. "claimed" or "failed" follows. false when out of memory. */
bool pod_bind(struct pod *pod, const json_t *patch, json_t *bound);
/* Binds a waiting pod to a run, unless it is taken: "claimed" or "failed" follows. wall_s: how long
 * the run may use it from now on. false when out of memory. */
bool pod_claim(struct pod *pod, const char *run_id, int64_t latest, uint64_t wall_s);
/* Begins to remove it, at any step: "removed" follows. is_dead: the first process has reported that
 * all processes of the program are dead, so "removed" follows at once. Otherwise it follows when
 * the node has confirmed the end, or with a fault if the node does not. If the server has refused
 * to make the pod, "removed" is called at once. false when out of memory. */
bool pod_remove(struct pod *pod, bool is_dead);
/* Without a request. NULL is fine. */
void pod_free(struct pod *pod);

const char *pod_name(const struct pod *pod);
/* As asked for, by its making or a claim; borrowed. */
const json_t *pod_config(const struct pod *pod);
/* The last state that the server has reported. */
const struct pod_state *pod_state(const struct pod *pod);
/* The reason why a pod is not ready yet, as a fault for a run that gives up waiting. */
void pod_explain_wait(const struct pod *pod, struct api_fault *ret);
/* A request about it is under way. */
bool pod_is_asking(const struct pod *pod);

/* Removes the pods of owners that have certainly ended, and of others past their latest time. */
struct pods_sweep_result {
    struct api_fault fault; /* why there is no list; NONE: there is */
    unsigned int removed;
    unsigned int left; /* could not be removed */
};
typedef void pods_swept(void *user, const struct pods_sweep_result *result);
struct pods_sweep;
/* Frees itself after the answer. NULL when out of memory. */
struct pods_sweep *pods_sweep_start(struct pods *pods, pods_swept *done, void *user);
/* The same with other objects that have our labels and annotations; path: of their collection. */
struct pods_sweep *pods_sweep_objects(struct pods *pods, const char *path, pods_swept *done,
                                      void *user);
/* The answer is not wanted any more. NULL is fine. */
void pods_sweep_disown(struct pods_sweep *sweep);
