/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the way between a run's stream of frames and the broker's sockets: see relay.h. Runs in the
 * broker. */
#include "backends/egress/server/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/cleanup.h"

/* Nothing more comes or goes; the sockets' other ends see that. */
static void stop(struct relay *relay)
{
    event_loop_unwatch(relay->loop, &relay->stream);
    event_loop_unwatch(relay->loop, &relay->sockets);
    close_fd(TAKE_FD(relay->stream_fd));
    relay_clear(&relay->connections);
}

/* false: the stream takes no more now, or is over. */
static bool send_frames(struct relay *relay)
{
    while (relay->begin < relay->end) {
        ssize_t count = send(relay->stream_fd, relay->frames + relay->begin,
                             relay->end - relay->begin, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno != EAGAIN)
            stop(relay);
        if (count < 0)
            return false;
        relay->begin += (size_t)count;
    }
    return true;
}

/* Sends what the connections have to say, as far as the stream has room. */
static void pump(struct relay *relay)
{
    bool has_room = send_frames(relay);
    while (has_room) {
        relay->begin = 0;
        relay->end = relay_give(&relay->connections, relay->frames, sizeof(relay->frames));
        if (relay->end == 0)
            break;
        has_room = send_frames(relay);
    }
    uint32_t events = has_room ? EPOLLIN : EPOLLIN | EPOLLOUT;
    if (relay->stream_fd >= 0 && event_loop_change(relay->loop, &relay->stream, events) < 0)
        stop(relay);
}

static void on_stream(struct watch *watch, uint32_t events)
{
    struct relay *relay = CONTAINER_OF(watch, struct relay, stream);
    static unsigned char bytes[4 * RELAY_FRAME_LIMIT];
    ssize_t count = -1;
    errno = EAGAIN;
    if (events & ~(uint32_t)EPOLLOUT)
        count = recv(relay->stream_fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    bool is_over = count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
    if (is_over || (count > 0 && !relay_take(&relay->connections, bytes, (size_t)count)))
        stop(relay);
    else
        pump(relay);
}

static void on_sockets(struct watch *watch, uint32_t events)
{
    struct relay *relay = CONTAINER_OF(watch, struct relay, sockets);
    (void)events;
    relay_serve(&relay->connections);
    pump(relay);
}

static bool take_opened(void *user, int fd)
{
    struct relay *relay = user;
    if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0) {
        (void)relay->take(relay->user, fd);
        return true;
    }
    close_fd(fd);
    return false;
}

struct relay *relay_new(struct event_loop *loop, int stream, bool (*take)(void *user, int fd),
                        void *user)
{
    struct relay *relay = calloc(1, sizeof(*relay));
    if (!relay)
        return NULL;
    *relay = (struct relay){
        .loop = loop, .stream = {stream, on_stream}, .stream_fd = -1, .take = take, .user = user};
    bool begun = relay_init(&relay->connections);
    relay->sockets = (struct watch){relay->connections.epoll, on_sockets};
    relay->connections.opened = take_opened;
    relay->connections.user = relay;
    if (!begun || event_loop_watch(loop, &relay->sockets, EPOLLIN) < 0) {
        relay->sockets.fd = relay->stream.fd = -1;
    } else if (event_loop_watch(loop, &relay->stream, EPOLLIN) == 0) {
        relay->stream_fd = stream;
        return relay;
    }
    relay->stream.fd = -1;
    relay_free(relay);
    return NULL;
}

void relay_reset(struct relay *relay)
{
    relay_reset_all(&relay->connections);
    if (relay->stream_fd >= 0)
        pump(relay);
}

void relay_free(struct relay *relay)
{
    if (relay)
        stop(relay);
    free(relay);
}
