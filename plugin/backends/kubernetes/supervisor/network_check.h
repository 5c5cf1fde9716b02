/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the cluster keeps the network away from the pods of runs, as a run's own guest has tried
 * it: ahead of its message, and so of its program. A trial tries it, and a run that must have the
 * layer, on a node of which nothing fresh is known. What is reached must exist, so another pod is
 * made for a try (network_peer.c); it waits, refuses connections, and goes when nobody tries it
 * any more. Runs in the kubernetes backend, single-threaded; no function here waits.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/kubernetes/messages/kubernetes_messages.h"
#include "backends/kubernetes/pod/pod_state.h"

#define NETWORK_NODES_MOST 64
/* A policy may be taken away, and a node's network plugin may end: no verdict holds for long. */
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
    bool is_required; /* a run had to have the layer: those that wait for one are tried as well */
};

/* Of one container. */
enum network_step {
    NETWORK_UNTRIED,
    NETWORK_WAITS, /* for the other pod; its guest is not called yet */
    NETWORK_TRIES, /* its guest was told to */
    NETWORK_TRIED, /* there is a verdict */
};

/* Its pod's stream is attached: calls its guest, at once or when the other pod is there. */
void network_check_call(struct container *container);
/* See struct guest_provider: the guest's report. */
bool network_check_take(struct container *container, const unsigned char *report, size_t length);
/* What is known of the network of that container, by its own try or by a fresh one on its node. */
struct network_verdict network_check_verdict(const struct container *container);
/* Whether a run can take one that waits: where the layer is required, only while something is known
 * of its network. */
bool network_check_is_fresh(const struct container *container);
/* See struct guest_provider: makes the other pods that are waited for, and removes the others. */
void network_check_handle(struct guest_environment *environment);
bool network_check_is_busy(const struct guest_environment *environment);

/* For network_peer.c: those who wait for the other pod can go on; or there is none, by that reason.
 */
void network_check_go_on(struct engine *cluster);
void network_check_give_up(struct engine *cluster, const char *why);

/* network_peer.c */
/* Begins to make it, as that pod's configuration is but for the size and what names it. false when
 * out of memory. */
bool network_peer_make(struct engine *cluster, const json_t *like);
void network_peer_remove(struct engine *cluster);
/* Gives up on one that does not come. */
void network_peer_expire(struct engine *cluster);
