/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubernetes backend's part of a run: its questions to the cluster before there is a pod
 * (kubernetes_run.c), its pod's configuration (kubernetes_config.c), pods that wait for it
 * (kubernetes_pool.c), and the layers of its pod (kubernetes_layers.c). See struct
 * guest_provider; the rest of a run is in guest_runs/run/. Runs in the kubernetes backend,
 * single-threaded; no function here waits.
 */
#pragma once

#include "backends/guest_runs/run/run_private.h"
#include "backends/kubernetes/supervisor/kubernetes_container.h"

struct kubernetes_run {
    struct run run;                    /* the first member */
    struct kubernetes_options options; /* of the description */
    struct api_call *call;             /* the request under way */
    struct pods_sweep *sweep;          /* that this run waits for */
    uint64_t asked_us;                 /* when its pod was asked for; 0: not yet */
    unsigned int claims;               /* pods that waited and were tried for it */
    uint64_t claimed_us;               /* when the last one was; 0: its claim is answered */
    unsigned int silent_ticks;         /* since its pod's stream has ended too early */
    char last[96];                     /* the last line that the plugin got */
    struct network_verdict network;    /* about its pod, once its guest waits */
};

/* The structure around it: each run of this backend is part of one. */
struct kubernetes_run *kubernetes_run(struct run *run);

void kubernetes_run_begin(struct run *run);
void kubernetes_run_go_on(struct run *run);
void kubernetes_run_make_container(struct run *run);
/* Names its pod in the report. */
void kubernetes_run_note_pod(struct run *run);
/* Tells the plugin what its pod waits for, and gives up on one that is not started in time. */
bool kubernetes_run_expire(struct run *run);

/* kubernetes_config.c */
/* How long a pod may be the run's. */
uint64_t kubernetes_config_life_s(const struct run_description *description);
/* The name is not made from a run's id: trials share one, and it is to say nothing about a run. */
bool kubernetes_config_name(char *ret, size_t size);
/* marks: owner's, borrowed: annotations of the pod, or of its claim, which has the end of its own
 * instead of deadline_s.
 * All three are new; NULL: out of memory. A pod that waits does so for at most waiting_s, once it
 * is ready. */
json_t *kubernetes_config_for_run(struct run *run, const char *name, json_t *marks,
                                  uint64_t deadline_s);
json_t *kubernetes_config_template(struct run *run);
json_t *kubernetes_config_waiting(const struct kubernetes_environment *environment,
                                  json_t *template, uint64_t waiting_s);
enum run_interpreter kubernetes_config_interpreter(const json_t *template);

/* kubernetes_pool.c */
struct container *kubernetes_pool_make(struct guest_environment *environment,
                                       struct warm_pool *warm_pool, uint64_t waiting_s);
/* Claims one that waits, else makes a pod. */
void kubernetes_run_get_container(struct run *run);
bool kubernetes_run_begin_anew(struct run *run, const struct engine_fault *fault);
/* No node has room for its pod: one that waits is removed. */
void kubernetes_pool_make_room(struct run *run);

/* kubernetes_layers.c */
bool kubernetes_run_judge(struct run *run, struct isolation_report *report);
/* See struct guest_provider. */
const char *kubernetes_run_explain_layer(const struct run *run, enum isolation_layer layer);

/* kubernetes_provider.c */
extern const struct guest_provider kubernetes_provider;
