/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the network tries from inside of pods, and their verdicts: see network_check.h. Runs in the
 * kubernetes backend. */
#include "backends/kubernetes/supervisor/network_check.h"

#include <stdio.h>
#include <string.h>

#include "backends/common/run_answer.h"
#include "backends/kubernetes/pod/network_probe.h"
#include "backends/kubernetes/supervisor/kubernetes_run.h"
#include "base/cleanup.h"

static struct network_checks *checks_of(const struct container *container)
{
    return &container->engine->network;
}

static const char *node_of(const struct container *container)
{
    return pod_state(kubernetes_container_pod((const struct kubernetes_container *)container))
        ->node;
}

/* NULL: nothing is known, or not any more. */
static const struct network_verdict *find_verdict(const struct container *container)
{
    const struct network_checks *checks = checks_of(container);
    const char *node = node_of(container);
    uint64_t now = monotonic_us();
    for (size_t i = 0; node[0] != '\0' && i < COUNT_OF(checks->nodes); i++)
        if (checks->nodes[i].until_us > now && strcmp(checks->nodes[i].name, node) == 0)
            return &checks->nodes[i].verdict;
    return NULL;
}

/* Replaces that node's verdict, or else the one that expires first. */
static void keep_verdict(const struct container *container, const struct network_verdict *verdict)
{
    struct network_checks *checks = checks_of(container);
    const char *name = node_of(container);
    struct network_node *place = &checks->nodes[0];
    if (name[0] == '\0')
        return;
    for (size_t i = 0; i < COUNT_OF(checks->nodes); i++) {
        struct network_node *node = &checks->nodes[i];
        if (strcmp(node->name, name) == 0) {
            place = node;
            break;
        }
        if (node->until_us < place->until_us)
            place = node;
    }
    (void)snprintf(place->name, sizeof(place->name), "%s", name);
    place->verdict = *verdict;
    place->until_us = monotonic_us() + NETWORK_VERDICT_US;
}

static bool is_due(const struct container *container)
{
    struct network_checks *checks = checks_of(container);
    const struct run *run = container->job ? container->job->run : NULL;
    if (run && run->description.purpose == RUN_PURPOSE_TRIAL)
        return true;
    bool is_required =
        run ? run->description.required & LAYER_BIT(LAYER_NETWORK_NAMESPACE) : checks->is_required;
    checks->is_required = checks->is_required || is_required;
    return is_required && !find_verdict(container);
}

static void send_call(struct container *container, const void *bytes, size_t length)
{
    if (kubernetes_attached_form.send(container, bytes, length) != (ssize_t)length)
        container_fail(container, "call the guest");
}

static void call_plainly(struct container *container)
{
    static const char call = GUEST_CALL;
    send_call(container, &call, sizeof(call));
}

static void call_for_try(struct container *container)
{
    const char *address = pod_state(checks_of(container)->peer.pod)->address;
    size_t length = strlen(address);
    char call[2 + GUEST_PEER_SIZE] = {GUEST_CALL_NETWORK, (char)length};
    (void)mempcpy(call + 2, address, length);
    kubernetes_container(container)->network_step = NETWORK_TRIES;
    send_call(container, call, 2 + length);
}

void network_check_call(struct container *container)
{
    struct kubernetes_container *own = kubernetes_container(container);
    const struct network_peer *peer = &checks_of(container)->peer;
    if (!is_due(container)) {
        call_plainly(container);
        return;
    }
    own->network_step = NETWORK_WAITS;
    if (peer->is_ready && !peer->is_leaving)
        call_for_try(container);
    /* Else network_check_handle() makes it, or it is on its way. */
}

static struct kubernetes_container *find_waiting(struct engine *cluster)
{
    struct container *container = cluster->environment->guests.containers;
    for (; container; container = container->next)
        if (container->engine == cluster && !container->removing && container->stream.open &&
            kubernetes_container(container)->network_step == NETWORK_WAITS)
            return kubernetes_container(container);
    return NULL;
}

void network_check_go_on(struct engine *cluster)
{
    struct kubernetes_container *own;
    while ((own = find_waiting(cluster)))
        call_for_try(&own->container);
}

/* This is no verdict about the node, so the next pod tries again. */
void network_check_give_up(struct engine *cluster, const char *why)
{
    struct kubernetes_container *own;
    while ((own = find_waiting(cluster))) {
        own->network_step = NETWORK_TRIED;
        own->network.proof = NETWORK_NOT_PROVEN;
        own->network_until_us = monotonic_us() + NETWORK_VERDICT_US;
        (void)snprintf(own->network.why, sizeof(own->network.why), "no other pod to try: %s", why);
        call_plainly(&own->container);
    }
}

/* A pod that has ended does not answer, even if the network is open. */
static void judge(const struct network_peer *peer, const unsigned char *report, size_t length,
                  struct network_verdict *ret)
{
    static const char *const targets[] = {GUEST_TRY_SERVER, GUEST_TRY_DNS, GUEST_TRY_DNS_DATAGRAM,
                                          GUEST_TRY_METADATA, GUEST_TRY_POD};
    ret->proof = network_probe_judge((const char *)report, length, targets, COUNT_OF(targets),
                                     ret->why, sizeof(ret->why));
    if (ret->proof != NETWORK_CLOSED || peer->is_ready)
        return;
    ret->proof = NETWORK_NOT_PROVEN;
    (void)snprintf(ret->why, sizeof(ret->why), "the pod that was tried has ended");
}

bool network_check_take(struct container *container, const unsigned char *report, size_t length)
{
    struct kubernetes_container *own = kubernetes_container(container);
    if (own->network_step != NETWORK_TRIES)
        return false;
    own->network_step = NETWORK_TRIED;
    own->network_until_us = monotonic_us() + NETWORK_VERDICT_US;
    judge(&checks_of(container)->peer, report, length, &own->network);
    if (own->network.proof != NETWORK_NOT_PROVEN)
        keep_verdict(container, &own->network);
    return true;
}

/* A pod may have waited for a long time. A try that proves nothing is no verdict. */
static bool has_own_verdict(const struct kubernetes_container *own)
{
    return own->network_step == NETWORK_TRIED && own->network.proof != NETWORK_NOT_PROVEN &&
           monotonic_us() < own->network_until_us;
}

bool network_check_is_fresh(const struct container *container)
{
    return !container->engine->network.is_required ||
           has_own_verdict((const struct kubernetes_container *)container) ||
           find_verdict(container);
}

struct network_verdict network_check_verdict(const struct container *container)
{
    const struct kubernetes_container *own = (const struct kubernetes_container *)container;
    const struct network_verdict *known = find_verdict(container);
    if (has_own_verdict(own))
        return own->network;
    if (known)
        return *known;
    if (own->network_step == NETWORK_TRIED && own->network.proof == NETWORK_NOT_PROVEN)
        return own->network; /* it says why */
    return (struct network_verdict){.proof = NETWORK_NOT_PROVEN, .why = "not tried"};
}

/* A pod that waits for the other pod, or tries it; NULL: there is none. */
static const struct pod *find_user(const struct engine *cluster)
{
    const struct container *container = cluster->environment->guests.containers;
    for (; container; container = container->next) {
        const struct kubernetes_container *own = (const struct kubernetes_container *)container;
        if (container->engine == cluster && !container->removing && container->stream.open &&
            (own->network_step == NETWORK_WAITS || own->network_step == NETWORK_TRIES))
            return kubernetes_container_pod(own);
    }
    return NULL;
}

static void handle(struct engine *cluster)
{
    const struct network_peer *peer = &cluster->network.peer;
    const struct pod *user = find_user(cluster);
    if (peer->pod && !user)
        network_peer_remove(cluster);
    else if (peer->pod)
        network_peer_expire(cluster);
    else if (user && !network_peer_make(cluster, pod_config(user)))
        network_check_give_up(cluster, "no memory");
}

void network_check_handle(struct guest_environment *guests)
{
    struct kubernetes_environment *environment = kubernetes_environment(guests);
    for (size_t i = 0; i < environment->cluster_count; i++)
        handle(&environment->clusters[i]);
}

bool network_check_is_busy(const struct guest_environment *guests)
{
    const struct kubernetes_environment *environment =
        (const struct kubernetes_environment *)guests;
    for (size_t i = 0; i < environment->cluster_count; i++)
        if (environment->clusters[i].network.peer.pod)
            return true;
    return false;
}
