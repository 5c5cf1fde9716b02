/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the pod that others try to reach: see network_check.h. Its guest is never called. The kernel
 * refuses each connection, and a refusal is an answer. Runs in the kubernetes backend. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "backends/common/run_answer.h"
#include "backends/kubernetes/supervisor/kubernetes_run.h"
#include "backends/kubernetes/supervisor/network_check.h"
#include "base/cleanup.h"

#define PEER_START_LIMIT_US (UINT64_C(60) * 1000000)
#define PEER_LIFE_S         600 /* then the kubelet ends it, where nobody else does */
#define PEER_CPU            "50m"
#define PEER_MEMORY         UINT64_C(128000000)
#define NO_RUN              "00000000000000000000000000000000" /* as a trial is of none */

/* The prefix is dropped, because a report has little room. */
static void give_up(struct engine *cluster, const char *why)
{
    static const char known[] = "the pod does not start: ";
    bool is_known = strncmp(why, known, strlen(known)) == 0;
    network_check_give_up(cluster, is_known ? why + strlen(known) : why);
}

static struct network_peer *peer_of(struct engine *cluster)
{
    return &cluster->network.peer;
}

static void take_ready(void *user)
{
    struct engine *cluster = user;
    if (pod_state(peer_of(cluster)->pod)->address[0] == '\0') {
        network_check_give_up(cluster, "the cluster tells no address of it");
        return;
    }
    peer_of(cluster)->is_ready = true;
    network_check_go_on(cluster);
}

static void take_failure(void *user, const struct api_fault *fault)
{
    struct engine *cluster = user;
    peer_of(cluster)->is_ready = false;
    give_up(cluster, fault->message);
}

static void take_end(void *user, const struct pod_end *end)
{
    struct engine *cluster = user;
    peer_of(cluster)->is_ready = false;
    network_check_give_up(cluster, end->reason);
}

/* One that is not removed is swept, at the latest. */
static void take_removal(void *user, const struct api_fault *fault)
{
    struct engine *cluster = user;
    struct pod *pod = peer_of(cluster)->pod;
    (void)fault;
    *peer_of(cluster) = (struct network_peer){.pod = NULL};
    pod_free(pod);
}

static const struct pod_events peer_events = {
    .ready = take_ready,
    .failed = take_failure,
    .ended = take_end,
    .removed = take_removal,
};

static json_t *write_metadata(const struct engine *cluster)
{
    const struct kubernetes_environment *environment = cluster->environment;
    json_auto_t *marks =
        owner_labels(&environment->owner, NO_RUN, (int64_t)time(NULL) + PEER_LIFE_S);
    uint64_t random[2];
    if (!marks || getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return NULL;
    return json_pack(
        "{s:o, s:{s:s, s:s, s:s, s:s}, s:O}", "name",
        json_sprintf(CONTAINER_NAME_PREFIX "%016" PRIx64 "%016" PRIx64, random[0], random[1]),
        "labels", POD_LABEL_MAKER, POD_MAKER, POD_LABEL_STATE, POD_TAKEN, POD_LABEL_OWNER,
        environment->owner_name, POD_LABEL_RUN, NO_RUN, "annotations", marks);
}

/* Of its container, for requests and limits alike. */
static json_t *write_size(void)
{
    char memory[QUANTITY_SIZE];
    quantity_write(PEER_MEMORY, memory);
    return json_pack("{s:s, s:s, s:s}", "cpu", PEER_CPU, "memory", memory, "ephemeral-storage",
                     "16Mi");
}

static json_t *write_command(void)
{
    return json_pack("[s, s, s, s, s]", GUEST_PATH, GUEST_WITHOUT_NETWORK, GUEST_DISTANT, "0", "0");
}

static json_t *write_config(const struct engine *cluster, const json_t *like)
{
    json_auto_t *config = json_deep_copy(like);
    json_t *spec = json_object_get(config, "spec");
    json_t *container = json_array_get(json_object_get(spec, "containers"), 0);
    json_auto_t *size = write_size();
    if (!config || !size || json_object_set_new(config, "metadata", write_metadata(cluster)) != 0 ||
        json_object_set_new(spec, "activeDeadlineSeconds", json_integer(PEER_LIFE_S)) != 0 ||
        json_object_set_new(container, "command", write_command()) != 0 ||
        json_object_set_new(container, "resources",
                            json_pack("{s:O, s:O}", "limits", size, "requests", size)) != 0)
        return NULL;
    return TAKE_POINTER(config);
}

bool network_peer_make(struct engine *cluster, const json_t *like)
{
    json_t *config = write_config(cluster, like);
    if (!config)
        return false;
    peer_of(cluster)->made_us = monotonic_us();
    peer_of(cluster)->pod = pod_make(cluster->pods, config, &peer_events, cluster);
    return peer_of(cluster)->pod;
}

/* There is no program in it. */
void network_peer_remove(struct engine *cluster)
{
    struct network_peer *peer = peer_of(cluster);
    if (peer->is_leaving)
        return;
    peer->is_leaving = true;
    if (!pod_remove(peer->pod, true))
        take_removal(cluster, NULL);
}

void network_peer_expire(struct engine *cluster)
{
    const struct network_peer *peer = peer_of(cluster);
    struct api_fault fault;
    if (peer->is_ready || peer->is_leaving || monotonic_us() - peer->made_us < PEER_START_LIMIT_US)
        return;
    pod_explain_wait(peer->pod, &fault);
    give_up(cluster, fault.message);
}
