/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clusters that this backend works with: their API servers, our credentials, and our pods. A
 * cluster with a namespace is an engine for the shared part. Runs in the kubernetes backend.
 */
#pragma once

#include "backends/guest_runs/container/container.h"
#include "backends/guest_runs/container/owner.h"
#include "backends/kubernetes/api/api_client.h"
#include "backends/kubernetes/messages/kubernetes_messages.h"
#include "backends/kubernetes/pod/pods.h"
#include "backends/kubernetes/supervisor/network_check.h"

#define CLUSTERS_LIMIT 8 /* with a namespace each; operators have one */

#define CLUSTER_NO_CLAIMS_US (UINT64_C(60) * 1000000)

struct engine {
    char *key; /* everything in a description that identifies the cluster */
    struct api_server server;
    struct pods *pods;
    char version[32]; /* "v1.34.4" */
    bool known;       /* it has answered; until a call fails */
    bool swept;
    bool swept_claims;
    uint64_t no_claims_until_us; /* one was refused: so long no pod waits for runs */
    struct network_checks network;
    struct kubernetes_environment *environment;
};

/* Shared by all runs of the process. */
struct kubernetes_environment {
    struct guest_environment guests; /* the first member */
    struct api_client *client;
    struct owner owner;
    char owner_name[POD_OWNER_SIZE];        /* the label's value of all of its pods */
    char guest_digest[RUN_HASH_LENGTH + 1]; /* of the guest beside this program */
    struct engine clusters[CLUSTERS_LIMIT];
    size_t cluster_count;
};

/* The structure around it: each engine of this backend is part of one. */
struct kubernetes_environment *kubernetes_environment(struct guest_environment *guests);

/* The cluster that the options name; NULL with the fault. */
struct engine *cluster_find(struct kubernetes_environment *environment,
                            const struct kubernetes_options *options, struct engine_fault *fault);
void cluster_clear_all(struct kubernetes_environment *environment);

/* The same problem, as the shared part knows it. */
struct engine_fault cluster_fault(const struct api_fault *fault);
