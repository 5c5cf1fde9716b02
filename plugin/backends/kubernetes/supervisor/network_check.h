/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the cluster keeps the network away from the pods of runs. A run's own guest tries it
 * before it gets its message, so before the program. Trials do so, and runs that require the layer
 * on a node without a fresh verdict. A target must exist to be reached, so another pod is made for
 * the try (network_peer.c). It refuses connections, and is removed after the last try. Runs in the
 * kubernetes backend, single-threaded; no function here waits.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/kubernetes/messages/kubernetes_messages.h"
#include "backends/kubernetes/pod/pod_state.h"

#define NETWORK_NODES_MOST 64
/* A policy may be deleted, and a node's network plugin may stop, so a verdict expires. */
#define NETWORK_VERDICT_US (UINT64_C(300) * 1000000)
#define NETWORK_WHY_SIZE   120

struct container;
struct engine;
struct guest_environment;
struct pod;

struct network_verdict {
    enum network_proof proof;
    char why[NETWORK_WHY_SIZE]; /* it is not closed; "" where it is */
};

struct network_node {
    char name[POD_VERSION_LIMIT + 1];
    struct network_verdict verdict;
    uint64_t until_us; /* 0: of no node */
};

struct network_peer {
    struct pod *pod; /* NULL: there is none */
    bool is_ready;   /* it runs, and has an address */
    bool is_leaving;
    uint64_t made_us;
};

/* Of a cluster. Starts all zero. */
struct network_checks {
    struct network_node nodes[NETWORK_NODES_MOST];
    struct network_peer peer;
    bool is_required; /* a run has required the layer, so waiting pods try too */
};

/* Of one container. */
enum network_step {
    NETWORK_UNTRIED,
    NETWORK_WAITS, /* for the other pod; its guest is not called yet */
    NETWORK_TRIES, /* its guest was told to */
    NETWORK_TRIED, /* there is a verdict */
};

/* Call it when the stream is attached: calls the guest, at once or when the other pod is ready. */
void network_check_call(struct container *container);
/* See struct guest_provider: the guest's report. */
bool network_check_take(struct container *container, const unsigned char *report, size_t length);
/* The verdict about the network of that container, by its own try or by a fresh one on its node. */
struct network_verdict network_check_verdict(const struct container *container);
/* Whether a run can take that waiting container. If the layer is required, it needs a fresh
 * verdict. */
bool network_check_is_fresh(const struct container *container);
/* See struct guest_provider: makes the other pods that containers wait for, and removes those of no
 * use. */
void network_check_handle(struct guest_environment *environment);
bool network_check_is_busy(const struct guest_environment *environment);

/* For network_peer.c: the containers that wait for the other pod can go on, or there is none, for
 * that reason. */
void network_check_go_on(struct engine *cluster);
void network_check_give_up(struct engine *cluster, const char *why);

/* network_peer.c */
/* Begins to make it, with that pod's configuration except the size and the names. false when out of
 * memory. */
bool network_peer_make(struct engine *cluster, const json_t *like);
void network_peer_remove(struct engine *cluster);
/* Gives up on one that does not come. */
void network_peer_expire(struct engine *cluster);
