/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code-execute-egress, the broker of endpoints: one process for all runs of a gateway, which starts
 * it like a backend (backends/common/control.h). It holds the credentials and makes the TLS, so
 * that a program in a sandbox needs neither. One thread, but for libcurl's that resolve names. Ends
 * with its control socket or with its host.
 */
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "backends/common/control.h"
#include "backends/common/event_loop.h"
#include "backends/egress/confinement.h"
#include "backends/egress/server/run.h"
#include "backends/egress/upstream/pool.h"
#include "base/cleanup.h"
#include "protocol/channel.h"
#include "protocol/orders/egress_order.h"

#define SETTLE_ROUNDS 16 /* at most, before others are looked at again */

struct broker {
    struct event_loop *loop;
    struct pools *pools;
    struct runs *runs;
    struct watch control;
    struct watch host;
    bool ends;
};

static void on_host(struct watch *watch, uint32_t events)
{
    (void)events;
    CONTAINER_OF(watch, struct broker, host)->ends = true;
}

static void on_control(struct watch *watch, uint32_t events)
{
    (void)events;
    struct broker *broker = CONTAINER_OF(watch, struct broker, control);
    char kind = 0;
    int fds[EGRESS_FD_COUNT];
    size_t count = 0;
    ssize_t length = channel_receive_fds_now(BACKEND_CONTROL_FD, &kind, sizeof(kind), fds,
                                             COUNT_OF(fds), &count);
    if (length == 1 && kind == CONTROL_ENDPOINTS && count == EGRESS_FD_COUNT) {
        runs_begin(broker->runs, fds);
        return;
    }
    for (size_t i = 0; length >= 0 && i < count; i++)
        close_fd(fds[i]);
    if (length == 0)
        broker->ends = true;
}

static bool set_up(struct broker *broker, int host)
{
    broker->loop = event_loop_new();
    broker->pools = broker->loop ? pools_new(broker->loop) : NULL;
    broker->runs = broker->pools ? runs_new(broker->loop, broker->pools) : NULL;
    broker->control = (struct watch){BACKEND_CONTROL_FD, on_control};
    broker->host = (struct watch){host, on_host};
    return broker->runs && event_loop_watch(broker->loop, &broker->control, EPOLLIN) == 0 &&
           event_loop_watch(broker->loop, &broker->host, EPOLLIN) == 0;
}

static void serve(struct broker *broker)
{
    bool more = false;
    while (!broker->ends && event_loop_turn(broker->loop, more ? 0 : -1) == 0) {
        more = true;
        for (int round = 0; more && round < SETTLE_ROUNDS; round++)
            more = runs_settle(broker->runs);
    }
}

/* Proxies, certificates and options of libraries are the policy's, not the environment's. Standard
 * error stays for sanitizers. */
static bool leave_environment(void)
{
    return clearenv() == 0;
}

int main(void)
{
    struct broker broker = {0};
    CLEANUP_CLOSE int host = backend_enter();
    if (host < 0 || !leave_environment() || !pools_prepare_library())
        return 1;
    const char *kept = confinement_enter();
    if (kept) {
        (void)fprintf(stderr, "code-execute-egress: cannot give up %s: %m\n", kept);
        return 1;
    }
    if (!set_up(&broker, host) || control_greet(BACKEND_CONTROL_FD) < 0)
        return 1;
    serve(&broker);
    runs_free(broker.runs);
    pools_free(broker.pools);
    event_loop_free(broker.loop);
    return 0;
}
