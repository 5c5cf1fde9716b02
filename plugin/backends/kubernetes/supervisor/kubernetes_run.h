/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kubernetes backend has of a run: its questions to the cluster before there is a pod
 * (kubernetes_run.c), and what is known of the layers of one (kubernetes_layers.c). See struct
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
    char last[96];                     /* the last line that the plugin got */
    struct network_verdict network;    /* about its pod, once its guest waits */
};

/* The whole of which that is a part: every one here is. */
struct kubernetes_run *kubernetes_run(struct run *run);

void kubernetes_run_begin(struct run *run);
void kubernetes_run_go_on(struct run *run);
void kubernetes_run_make_container(struct run *run);
/* Tells the plugin what its pod waits for, and gives up on one that is not started in time. */
bool kubernetes_run_expire(struct run *run);

/* kubernetes_layers.c */
bool kubernetes_run_judge(struct run *run, struct isolation_report *report);
/* See struct guest_provider. */
const char *kubernetes_run_explain_layer(const struct run *run, enum isolation_layer layer);

/* kubernetes_provider.c */
extern const struct guest_provider kubernetes_provider;
