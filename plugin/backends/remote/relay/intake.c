/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the way of a run's connections to endpoints, at the worker. Its backend hands out either the
 * socket that listens in the sandbox, of which the connections are accepted here, or a stream that
 * has the connections of a container's guest already. On the channel both are the frames of
 * guest/connection_relay.h, unread. The gateway's side gives the broker of endpoints a stream with
 * them. Runs in code-execute-worker; intake_give() in code-execute-remote.
 */
#include "backends/remote/relay/intake.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "guest/channels/connection_relay.h"
#include "protocol/orders/egress_order.h"

struct intake {
    bool has_listener; /* the channel's descriptor is the listener; else still the backend's socket
                        */
    struct connection_relay relay;
};

bool intake_give(int socket, int *ret)
{
    const char word = EGRESS_INTAKE_RELAY;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    CLEANUP_CLOSE int theirs = pair[1];
    *ret = pair[0];
    if (channel_send(socket, &word, sizeof(word), &theirs, 1) == 0)
        return true;
    close_fd(pair[0]);
    return false;
}

bool intake_make(struct channel *channel, int *ret)
{
    int pair[2];
    channel->intake = calloc(1, sizeof(*channel->intake));
    if (!channel->intake)
        return false;
    channel->intake->relay.epoll = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    *ret = pair[1];
    return channel_watch(channel, pair[0]);
}

void intake_clear(struct channel *channel)
{
    if (!channel->intake)
        return;
    if (channel->intake->has_listener)
        relay_clear(&channel->intake->relay);
    free(TAKE_POINTER(channel->intake));
}

static bool has_option(int socket, int option, int wanted)
{
    int value = -1;
    socklen_t length = sizeof(value);
    return getsockopt(socket, SOL_SOCKET, option, &value, &length) == 0 && value == wanted;
}

/* The channel's descriptor from now on; owned in any case. */
static bool replace(struct channel *channel, int fd)
{
    int old = TAKE_FD(channel->fd);
    (void)epoll_ctl(channel->run->link->epoll, EPOLL_CTL_DEL, old, NULL);
    close_fd(old);
    return channel_watch(channel, fd);
}

static bool take_listener(struct channel *channel, int fd)
{
    struct intake *intake = channel->intake;
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = channel->number};
    if (!replace(channel, fd))
        return false;
    intake->has_listener = true;
    return relay_init(&intake->relay) &&
           epoll_ctl(channel->run->link->epoll, EPOLL_CTL_ADD, intake->relay.epoll, &event) == 0;
}

static bool take_stream(struct channel *channel, int fd)
{
    free(TAKE_POINTER(channel->intake));
    return replace(channel, fd);
}

/* Takes the descriptor that the backend hands out. false: it is of no use. */
static bool take_word(struct channel *channel)
{
    char word = 0;
    int fd = -1;
    size_t count = 0;
    ssize_t length = channel_receive_fds_now(channel->fd, &word, sizeof(word), &fd, 1, &count);
    if (length < 0)
        return errno == EAGAIN;
    CLEANUP_CLOSE int owned = count == 1 ? fd : -1;
    if (length != 1 || owned < 0 || !has_option(owned, SO_TYPE, SOCK_STREAM))
        return false;
    if (word == EGRESS_INTAKE_LISTENER && has_option(owned, SO_ACCEPTCONN, 1))
        return take_listener(channel, TAKE_FD(owned));
    if (word == EGRESS_INTAKE_RELAY && has_option(owned, SO_ACCEPTCONN, 0))
        return take_stream(channel, TAKE_FD(owned));
    return false;
}

/* A client would wait for the rest of what is sent in two pieces (Nagle's algorithm). Those for
 * which there is no place wait in the kernel's queue. */
static void accept_connections(struct channel *channel)
{
    const int on = 1;
    struct connection_relay *relay = &channel->intake->relay;
    while (relay_has_place(relay)) {
        int fd = accept4(channel->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        relay_add(relay, fd);
    }
}

static size_t give_frames(struct channel *channel, unsigned char *room)
{
    accept_connections(channel);
    relay_serve(&channel->intake->relay);
    return relay_give(&channel->intake->relay, room, RELAY_FRAME_LIMIT);
}

/* false: as take_word(). Data that came before is handed over. */
static bool settle(struct channel *channel)
{
    if (!take_word(channel))
        return false;
    if (channel->intake && !channel->intake->has_listener)
        return true; /* until it says something */
    channel_make_due(channel);
    lane_go_on(channel->lane);
    return true;
}

bool intake_step(struct channel *channel)
{
    struct connection *connection = channel->run->link->connection;
    if (!channel->intake->has_listener)
        return settle(channel);
    if (channel->allowance < RELAY_FRAME_LIMIT)
        return true;
    unsigned char *room = connection_room(connection, RELAY_FRAME_LIMIT);
    size_t length = room ? give_frames(channel, room) : 0;
    if (length == 0)
        return true;
    connection_commit(connection, REMOTE_DATA, channel->number, length);
    channel->allowance -= (uint32_t)length;
    channel_make_due(channel);
    return true;
}

enum intake_verdict intake_take(struct channel *channel, const unsigned char *bytes, size_t length)
{
    if (!channel->intake->has_listener)
        return INTAKE_WAITS;
    channel_make_due(channel);
    return relay_take(&channel->intake->relay, bytes, length) ? INTAKE_TAKEN : INTAKE_BROKEN;
}
