/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection between a gateway's backend of remote mode and a worker: mutual TLS, and the
 * frames of many runs (remote_frame.h). What goes over is the local protocol of protocol/channel.h:
 * datagrams with descriptors. Single-threaded, and no function waits.
 *
 * The owner polls link_fd() for POLLIN until link_deadline_us(), and then calls
 * link_handle(). The handler's functions are called from link_handle() alone. In them the owner may
 * call any function of this header but link_handle() and link_free().
 * Runs in code-execute-remote and code-execute-worker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/remote/link/remote_messages.h"
#include "backends/remote/link/tls_context.h"
#include "base/error.h"
#include "protocol/channel.h"

struct link;

/* DNS names, of which the other side's certificate must have one. Copied. */
struct link_peer {
    const char *const *names;
    size_t name_count;
};

/* Any may be NULL that its side does not need. */
struct link_handler {
    /* Both sides have sent their greetings, and the versions are equal. */
    void (*ready)(void *user, struct link *link, const struct remote_hello *peer);
    /* At the worker. link_answer() is due, at once or later. */
    void (*offered)(void *user, struct link *link, uint32_t channel,
                    const struct remote_offer *offer);
    /* At the gateway. Of any verdict but ACCEPTED the channel is gone. */
    void (*answered)(void *user, struct link *link, uint32_t channel,
                     const struct remote_answer *answer);
    void (*capacity)(void *user, struct link *link, const struct remote_capacity *capacity);
    void (*draining)(void *user, struct link *link);
    /* At the worker: a run is whole. The descriptors are as CONTROL_RUN brings them, the callee's.
     * The other end of events is the link's. To refuse a run with a reason, the callee sends
     * RUN_EVENT_ENDED there and closes all of them. */
    void (*arrived)(void *user, struct link *link, uint32_t channel, int fds[RUN_FD_COUNT]);
    /* At the worker, ahead of arrived(): the run's description, before it is sealed. It may be
     * replaced: the old one is wiped with explicit_bzero() and freed, the new one is of malloc().
     * false: the run is reset, and never arrives. */
    bool (*describe)(void *user, struct link *link, uint32_t channel, unsigned char **bytes,
                     size_t *length);
    /* The same for descriptions of a session's later cells, collections and further interpreters,
     * brief cells excepted. */
    bool (*describe_further)(void *user, struct link *link, uint32_t channel, unsigned char **bytes,
                             size_t *length);
    /* At the worker: an event of the run, ahead of its way to the gateway. */
    void (*told)(void *user, struct link *link, uint32_t channel, const unsigned char *event,
                 size_t length);
    /* Nothing of the run, or of a withdrawn offer, is left on the link. Called for each run that
     * was accepted, and at the worker also for each offer without an answer. Not called if the link
     * itself is over. */
    void (*run_over)(void *user, struct link *link, uint32_t channel);
};

/* Owns fd from now on in any case: a stream socket, connected or connecting. handler is borrowed.
 * NULL when out of memory or descriptors. */
struct link *link_new(int fd, struct tls_context *context, bool is_server,
                      const struct link_peer *peer, const struct remote_hello *self,
                      const struct link_handler *handler, void *user);
/* Closes everything, the local descriptors of its runs included. NULL is fine. */
void link_free(struct link *link);

/* One epoll descriptor: the connection, and all local descriptors of its runs. */
int link_fd(const struct link *link);
/* CLOCK_MONOTONIC, in microseconds; 0: at once. */
uint64_t link_deadline_us(const struct link *link);
/* false: it is over, link_error() says why, and the owner frees it. */
bool link_handle(struct link *link, uint64_t now_us);
/* ERROR_BACKEND_UNAVAILABLE until ready(), ERROR_BACKEND_FAILED behind it. */
const struct error *link_error(const struct link *link);
/* The first of its names that was allowed; "" before the handshake is over. */
const char *link_peer_name(const struct link *link);

/* Gateway: offers a run. The channel's number; 0: it cannot (not ready, draining, too many). */
uint32_t link_offer(struct link *link, const struct remote_offer *offer);
/* Worker: answers an offer. Does nothing if it was withdrawn. */
void link_answer(struct link *link, uint32_t channel, const struct remote_answer *answer);
/* Gateway, of a channel that is ACCEPTED: takes the descriptors in any case. false: it cannot, and
 * the channel is withdrawn. */
bool link_send_run(struct link *link, uint32_t channel, int fds[RUN_FD_COUNT]);
/* Gateway: whether a byte of the run may have reached the worker. Holds behind a link_handle() that
 * has returned false, until link_free(). */
bool link_run_begun(const struct link *link, uint32_t channel);
/* Either side: the run ends, or its offer is not wanted any more. */
void link_withdraw(struct link *link, uint32_t channel);
/* Worker: reports its capacity. Only the last report within 100 ms is sent. */
void link_send_capacity(struct link *link, const struct remote_capacity *capacity);
void link_send_drain(struct link *link);
/* Sends the reason to the other side if it can go out at once. link_handle() returns false
 * afterwards. */
void link_close(struct link *link, const char *reason);
