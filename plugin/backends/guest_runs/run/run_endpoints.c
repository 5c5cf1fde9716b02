/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the additional work of a run with endpoints. The container has no network. Its guest takes
 * the program's connections and sends them over the attached stream; the broker of endpoints has
 * the other end of a socket that their bytes are passed on to, unread
 * (guest/channels/connection_relay.h). Runs in a backend of containers.
 */
#include <errno.h>
#include <sys/socket.h>

#include "backends/guest_runs/run/run_private.h"
#include "base/cleanup.h"
#include "guest/messages/guest_protocol.h"
#include "protocol/channel.h"
#include "protocol/orders/egress_order.h"

bool run_endpoints_take(struct run *run, int intake)
{
    const char word = EGRESS_INTAKE_RELAY;
    int pair[2];
    if (!run->description.endpoints || run->description.purpose != RUN_PURPOSE_PROGRAM)
        return true;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return false;
    run->job.pipes[JOB_ENDPOINTS] = pair[0];
    CLEANUP_CLOSE int theirs = pair[1];
    return channel_send(intake, &word, sizeof(word), &theirs, 1) == 0 &&
           socket_sender_open(&run->job.senders[JOB_CONNECTIONS], GUEST_ORDER_ENDPOINTS, pair[0]);
}
