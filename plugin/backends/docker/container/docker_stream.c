/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of docker's attached stream: the connection, the request that upgrades it, and the
 * frames (attached_stream.h). See struct attached_form. Runs in the docker backend. */
#include <errno.h>
#include <stdio.h>

#include "backends/docker/container/docker_container.h"
#include "base/cleanup.h"

static void take_connection(void *user, const struct engine_answer *answer)
{
    struct container *container = user;
    if (answer->fault.problem != ENGINE_PROBLEM_NONE)
        container_fail_engine(container, &answer->fault);
    else
        container_stream_connected(container);
}

static bool open_stream(struct container *container)
{
    struct docker_container *own = docker_container(container);
    const struct engine_request request = {
        .address = &own->address,
        .connection = true,
        .done = take_connection,
        .user = container,
    };
    own->connection =
        engine_call_start(docker_environment(container->environment)->client, &request);
    return own->connection != NULL;
}

static void close_stream(struct container *container)
{
    engine_call_cancel(TAKE_POINTER(docker_container(container)->connection));
}

static int descriptor(const struct container *container)
{
    return engine_connection_fd(((const struct docker_container *)container)->connection);
}

static ssize_t send_bytes(struct container *container, const void *bytes, size_t length)
{
    return engine_connection_send(docker_container(container)->connection, bytes, length);
}

static ssize_t receive_bytes(struct container *container, void *bytes, size_t capacity)
{
    return engine_connection_receive(docker_container(container)->connection, bytes, capacity);
}

static int ask(struct container *container)
{
    struct docker_container *own = docker_container(container);
    char request[512];
    int length = snprintf(request, sizeof(request),
                          "POST /v1.%u/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1 "
                          "HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
                          "Content-Length: 0\r\n\r\n",
                          own->api, own->id);
    while (own->asked < (size_t)length) {
        ssize_t count = send_bytes(container, request + own->asked, (size_t)length - own->asked);
        if (count == 0 || (count < 0 && errno == EAGAIN))
            return 0;
        if (count < 0)
            return -1;
        own->asked += (size_t)count;
    }
    return 1;
}

static ptrdiff_t feed_head(struct docker_container *own, const unsigned char *bytes, size_t length,
                           struct attached_piece *ret, struct engine_fault *fault)
{
    size_t taken = 0;
    enum http_head_state state = http_head_feed(&own->head, bytes, length, &taken);
    if (state == HTTP_HEAD_MORE)
        return (ptrdiff_t)taken;
    if (state == HTTP_HEAD_BROKEN) {
        engine_fault_set(fault, ENGINE_PROBLEM_SILENT,
                         "docker's stream is broken: its header is not HTTP");
        return -1;
    }
    if (own->head.status != 101 && own->head.status != 200) {
        engine_fault_set(fault, ENGINE_PROBLEM_REFUSED, "docker refused the stream: status %d",
                         own->head.status);
        return -1;
    }
    own->is_head_read = true;
    ret->word = ATTACHED_OPENED;
    return (ptrdiff_t)taken;
}

static ptrdiff_t feed(struct container *container, const unsigned char *bytes, size_t length,
                      struct attached_piece *ret, struct engine_fault *fault)
{
    struct docker_container *own = docker_container(container);
    struct frame_piece piece;
    *ret = (struct attached_piece){.word = ATTACHED_NOTHING};
    if (!own->is_head_read)
        return feed_head(own, bytes, length, ret, fault);
    ptrdiff_t taken = frame_reader_next(&own->frames, bytes, length, &piece);
    if (taken < 0)
        engine_fault_set(fault, ENGINE_PROBLEM_SILENT,
                         "docker's stream is broken: a frame has no valid header");
    else if (piece.length > 0)
        *ret = (struct attached_piece){piece.stream == FRAME_STDERR ? ATTACHED_STDERR
                                                                    : ATTACHED_STDOUT,
                                       piece.bytes, piece.length};
    return taken;
}

/* Anyone on the way can cut a connection; over TLS only the engine can end one. */
static bool is_whole(const struct container *container, bool cut)
{
    const struct docker_container *own = (const struct docker_container *)container;
    bool broken = cut && own->address.certificates[0] != '\0';
    return !broken && own->is_head_read && frame_reader_at_boundary(&own->frames);
}

const struct attached_form docker_attached_form = {
    .open = open_stream,
    .close = close_stream,
    .fd = descriptor,
    .ask = ask,
    .send = send_bytes,
    .receive = receive_bytes,
    .feed = feed,
    .is_whole = is_whole,
};
