/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container of a pod, as a run has it: the pod (pod/pods.h) from the request that makes it to
 * its removal, and its attached stream (api/attach.h). Its work for a run is in the shared part
 * (guest_runs/container/container.h). Runs in the kubernetes backend, single-threaded; no function
 * here waits.
 */
#pragma once

#include "backends/guest_runs/container/container.h"
#include "backends/kubernetes/api/attach.h"
#include "backends/kubernetes/claim/claim.h"
#include "backends/kubernetes/pod/pods.h"
#include "backends/kubernetes/supervisor/cluster.h"

struct kubernetes_container {
    struct container container; /* the first member */
    struct pod *pod;            /* its own; NULL: it is of a warm pool */
    struct claim *claim;        /* else NULL */
    struct attach *attach;      /* NULL: not open, or over */
    enum network_step network_step;
    struct network_verdict network; /* of its own try */
    uint64_t network_until_us;
};

/* The structure around it: each container of this backend is part of one. */
struct kubernetes_container *kubernetes_container(struct container *container);

/* For a pod to be scheduled, its image to be pulled and its guest to report. */
#define POD_START_LIMIT_US (UINT64_C(300) * 1000000)

/* Begins to make a pod with that configuration (taken), for the job or the warm pool. NULL when out
 * of memory. */
struct container *kubernetes_container_make(struct engine *cluster, json_t *config,
                                            struct container_job *job, struct warm_pool *warm_pool);
/* Begins to claim a pod of a warm pool, with such a configuration (taken). NULL when out of memory.
 */
struct container *kubernetes_container_claim(struct engine *cluster,
                                             const struct claim_terms *terms, json_t *config,
                                             uint64_t life_s, struct container_job *job);
/* Its pod; NULL: its claim has none yet. */
const struct pod *kubernetes_container_pod(const struct kubernetes_container *container);
/* The reason why its stream is not attached yet: a word, "" if none is known, and a fault for a run
 * that gives up waiting. */
const char *kubernetes_container_reason(const struct kubernetes_container *container);
void kubernetes_container_explain_wait(const struct kubernetes_container *container,
                                       struct api_fault *ret);

/* See struct guest_provider. */
void kubernetes_container_start(struct container *container);
void kubernetes_container_read_end(struct container *container);
bool kubernetes_container_is_asking(const struct container *container);
void kubernetes_container_stop_asking(struct container *container);
bool kubernetes_container_remove(struct container *container);
bool kubernetes_container_is_current(const struct container *container);
bool kubernetes_container_asks_after(const struct container_end *end);
void kubernetes_container_free(struct container *container);

/* kubernetes_stream.c */
/* Keeps attached streams from being cut as idle. How long to wait, -1 without end: at most
 * timeout_ms, and not beyond the time of the next call. */
int kubernetes_streams_keep_alive(const struct guest_environment *guests, int timeout_ms);
extern const struct attached_form kubernetes_attached_form;
