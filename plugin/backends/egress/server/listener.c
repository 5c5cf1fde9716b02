/* SPDX-License-Identifier: Apache-2.0 */
/* Owns a run's intake and listener: see listener.h. Runs in the broker. */
#include "backends/egress/server/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "protocol/channel.h"
#include "protocol/orders/egress_order.h"

#define BATCH        16  /* connections a turn */
#define WAITING_MOST 128 /* more than a sandbox's listener keeps */

static bool has_option(int socket, int option, int wanted)
{
    int value = -1;
    socklen_t length = sizeof(value);
    return getsockopt(socket, SOL_SOCKET, option, &value, &length) == 0 && value == wanted;
}

static bool set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static void stop_listening(struct listener *listener)
{
    event_loop_unwatch(listener->loop, &listener->socket);
    close_fd(TAKE_FD(listener->socket_fd));
}

static void on_connection(struct watch *watch, uint32_t events)
{
    (void)events;
    struct listener *listener = CONTAINER_OF(watch, struct listener, socket);
    for (int i = 0; i < BATCH && !listener->full; i++) {
        int connection = accept4(listener->socket_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (connection >= 0) {
            listener->full = !listener->take(listener->user, connection);
            continue;
        }
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED && errno != EMFILE &&
            errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
            stop_listening(listener);
        return;
    }
    /* Others wait in the kernel's queue meanwhile. */
    if (listener->full && listener->socket.fd >= 0)
        event_loop_unwatch(listener->loop, &listener->socket);
}

static bool start_listening(struct listener *listener, int socket)
{
    if (!has_option(socket, SO_ACCEPTCONN, 1) || !has_option(socket, SO_TYPE, SOCK_STREAM) ||
        !set_nonblocking(socket))
        return false;
    listener->socket = (struct watch){socket, on_connection};
    if (event_loop_watch(listener->loop, &listener->socket, EPOLLIN) < 0)
        return false;
    listener->socket_fd = socket;
    return true;
}

static void take_descriptor(struct listener *listener, char kind, int fd)
{
    CLEANUP_CLOSE int owned = fd;
    if (kind == EGRESS_INTAKE_LISTENER && listener->socket_fd < 0) {
        if (start_listening(listener, owned))
            (void)TAKE_FD(owned);
    } else if (kind == EGRESS_INTAKE_CONNECTION && has_option(owned, SO_TYPE, SOCK_STREAM) &&
               has_option(owned, SO_ACCEPTCONN, 0) && set_nonblocking(owned)) {
        (void)listener->take(listener->user, TAKE_FD(owned));
    } else if (kind == EGRESS_INTAKE_RELAY && !listener->relay &&
               has_option(owned, SO_TYPE, SOCK_STREAM) && has_option(owned, SO_ACCEPTCONN, 0)) {
        listener->relay = relay_new(listener->loop, owned, listener->take, listener->user);
        if (listener->relay)
            (void)TAKE_FD(owned);
    }
}

static void on_intake(struct watch *watch, uint32_t events)
{
    (void)events;
    struct listener *listener = CONTAINER_OF(watch, struct listener, intake);
    char kind = 0;
    int fd = -1;
    size_t count = 0;
    ssize_t length =
        channel_receive_fds_now(listener->intake_fd, &kind, sizeof(kind), &fd, 1, &count);
    if (length == 1 && count == 1) {
        take_descriptor(listener, kind, fd);
    } else if (count == 1) {
        close_fd(fd);
    } else if (length == 0 || (length < 0 && errno != EAGAIN && errno != EMSGSIZE)) {
        event_loop_unwatch(listener->loop, &listener->intake);
        close_fd(TAKE_FD(listener->intake_fd));
    }
}

bool listener_begin(struct listener *listener, int intake)
{
    listener->intake_fd = intake;
    listener->socket_fd = -1;
    listener->socket.fd = -1;
    listener->intake = (struct watch){intake, on_intake};
    return event_loop_watch(listener->loop, &listener->intake, EPOLLIN) == 0;
}

void listener_go_on(struct listener *listener)
{
    if (!listener->full || listener->socket_fd < 0)
        return;
    listener->full = false;
    listener->socket.fd = listener->socket_fd;
    if (event_loop_watch(listener->loop, &listener->socket, EPOLLIN) < 0)
        stop_listening(listener);
}

void listener_drop(struct listener *listener)
{
    if (listener->relay)
        relay_reset(listener->relay);
    for (int i = 0; listener->socket_fd >= 0 && i < WAITING_MOST; i++) {
        int connection = accept4(listener->socket_fd, NULL, NULL, SOCK_CLOEXEC);
        if (connection < 0)
            return;
        close_fd(connection);
    }
}

void listener_end(struct listener *listener)
{
    event_loop_unwatch(listener->loop, &listener->intake);
    close_fd(TAKE_FD(listener->intake_fd));
    stop_listening(listener);
    relay_free(TAKE_POINTER(listener->relay));
}
