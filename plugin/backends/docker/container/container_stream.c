/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the stream between the plugin's pipes and the container: the attached connection, the
 * message to the bootstrap, its report, then the program's output up to the mark of its end. Runs
 * in the docker backend. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/container/container.h"
#include "base/cleanup.h"

static void connected(void *user, const struct engine_answer *answer)
{
    struct container *container = user;
    if (answer->fault.problem != ENGINE_PROBLEM_NONE) {
        container_fail_engine(container, &answer->fault);
        return;
    }
    container->stream.connected = true;
    container_stream_handle(container);
}

bool container_stream_open(struct container *container)
{
    const struct engine_request request = {
        .address = &container->address,
        .connection = true,
        .done = connected,
        .user = container,
    };
    container->stream.connection = engine_call_start(container->environment->client, &request);
    return container->stream.connection != NULL;
}

void container_stream_close(struct container *container)
{
    struct container_stream *stream = &container->stream;
    engine_call_cancel(TAKE_POINTER(stream->connection));
    stream->piece.length = stream->output.length = 0;
    stream->begin = stream->end = 0;
    stream->over = true;
}

static void break_stream(struct container *container, const char *why)
{
    struct engine_fault fault;
    engine_fault_set(&fault, ENGINE_PROBLEM_SILENT, "docker's stream is broken: %s", why);
    container_stream_close(container);
    container_fail_engine(container, &fault);
}

static bool has_to_send(const struct container *container)
{
    const struct container_stream *stream = &container->stream;
    return stream->taken_over &&
           (stream->mark_sent < END_MARK_LINE ||
            (container->job && stream->sent < container->job->message_length));
}

/* true: there is nothing left of it to send. A broken pipe is the container's end, which is seen
 * elsewhere. */
static bool send_rest(struct container_stream *stream, const void *bytes, size_t length,
                      size_t *sent)
{
    while (*sent < length) {
        ssize_t count = engine_connection_send(
            stream->connection, (const unsigned char *)bytes + *sent, length - *sent);
        if (count == 0 || (count < 0 && errno == EAGAIN))
            return false;
        *sent = count < 0 ? length : *sent + (size_t)count;
    }
    return true;
}

/* false: the connection does not take it. */
static bool ask_for_stream(struct container *container)
{
    struct container_stream *stream = &container->stream;
    char request[512];
    int length = snprintf(request, sizeof(request),
                          "POST /v1.%u/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1 "
                          "HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
                          "Content-Length: 0\r\n\r\n",
                          container->api, container->id);
    while (stream->asked < (size_t)length) {
        ssize_t count = engine_connection_send(stream->connection, request + stream->asked,
                                               (size_t)length - stream->asked);
        if (count == 0 || (count < 0 && errno == EAGAIN))
            return true;
        if (count < 0)
            return false;
        stream->asked += (size_t)count;
    }
    stream->asked_whole = true;
    return true;
}

/* The mark, as soon as there is somebody to read it, and the run's message. */
static void send_what_is_due(struct container *container)
{
    struct container_stream *stream = &container->stream;
    if (has_to_send(container) &&
        send_rest(stream, container->end_mark, END_MARK_LINE, &stream->mark_sent) && container->job)
        (void)send_rest(stream, container->job->message, container->job->message_length,
                        &stream->sent);
}

static void take_head(struct container *container)
{
    struct container_stream *stream = &container->stream;
    size_t taken = 0;
    enum http_head_state state = http_head_feed(&stream->head, stream->chunk + stream->begin,
                                                stream->end - stream->begin, &taken);
    stream->begin += taken;
    if (state == HTTP_HEAD_MORE)
        return;
    if (state == HTTP_HEAD_BROKEN) {
        break_stream(container, "its header is not HTTP");
        return;
    }
    if (stream->head.status != 101 && stream->head.status != 200) {
        struct engine_fault fault;
        engine_fault_set(&fault, ENGINE_PROBLEM_REFUSED, "docker refused the stream: status %d",
                         stream->head.status);
        container_stream_close(container);
        container_fail_engine(container, &fault);
        return;
    }
    stream->taken_over = true;
    container_start(container);
}

/* Before the program: the piece is the bootstrap's, but for what may follow its last word. One that
 * waits has no such word to say. */
static void take_report(struct container *container)
{
    struct container_stream *stream = &container->stream;
    struct frame_piece *piece = &stream->piece;
    const struct container_events *events = container->environment->events;
    const struct container_job *job = container->job;
    size_t taken = 0;
    stream->state = bootstrap_read(&stream->bootstrap, piece->bytes, piece->length, &taken);
    piece->bytes += taken;
    piece->length -= taken;
    if (stream->state == BOOTSTRAP_MORE)
        return;
    if (stream->state == BOOTSTRAP_READY && job) {
        events->started(job->run);
        return;
    }
    piece->length = 0;
    if (stream->state == BOOTSTRAP_MISSING && job)
        events->missing(job->run);
    else
        container_fail(container, stream->state == BOOTSTRAP_FAILED
                                      ? stream->bootstrap.detail
                                      : "the container sent data before its program was started");
}

static void take_errors(struct container_stream *stream)
{
    struct frame_piece *piece = &stream->piece;
    size_t taken = 0;
    stream->errors_state =
        bootstrap_read_errors(&stream->errors, piece->bytes, piece->length, &taken);
    piece->bytes += taken;
    piece->length -= taken;
}

static int pipe_of(const struct container *container)
{
    if (!container->job)
        return -1;
    return container->job->pipes[container->stream.output.stream == FRAME_STDERR];
}

/* true: the output is dealt with. A reader that has gone wants no more of it. */
static bool write_output(struct container *container)
{
    struct frame_piece *output = &container->stream.output;
    while (output->length) {
        ssize_t count = write(pipe_of(container), output->bytes, output->length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            return false;
        if (count < 0)
            count = (ssize_t)output->length;
        output->bytes += count;
        output->length -= (size_t)count;
    }
    return true;
}

/* The next output within the piece. */
static void find_output(struct container *container)
{
    struct container_stream *stream = &container->stream;
    struct frame_piece *piece = &stream->piece;
    stream->output.stream = piece->stream;
    size_t taken =
        end_mark_next(&stream->marks[piece->stream == FRAME_STDERR], container->end_mark,
                      piece->bytes, piece->length, &stream->output.bytes, &stream->output.length);
    piece->bytes += taken;
    piece->length -= taken;
}

/* What looked like the beginning of a mark when the stream ended. false: nothing. */
static bool find_rest(struct container *container)
{
    struct container_stream *stream = &container->stream;
    for (size_t i = 0; i < COUNT_OF(stream->marks) && container->job; i++) {
        stream->output.stream = i == 0 ? FRAME_STDOUT : FRAME_STDERR;
        stream->output.bytes = (const unsigned char *)container->end_mark;
        stream->output.length = end_mark_rest(&stream->marks[i]);
        if (stream->output.length)
            return true;
    }
    return false;
}

/* false: a pipe takes no more. */
static bool digest_piece(struct container *container)
{
    struct container_stream *stream = &container->stream;
    while (stream->piece.length || stream->output.length) {
        if (stream->output.length) {
            if (!write_output(container))
                return false;
        } else if (stream->piece.stream == FRAME_STDERR && stream->errors_state != BOOTSTRAP_READY)
            take_errors(stream);
        else if (stream->piece.stream != FRAME_STDERR && stream->state != BOOTSTRAP_READY)
            take_report(container);
        else
            find_output(container);
    }
    return true;
}

/* Everything that is in the chunk, as far as the pipes take it. false: they do not. */
static bool digest(struct container *container)
{
    struct container_stream *stream = &container->stream;
    for (;;) {
        if (!digest_piece(container))
            return false;
        if (stream->over)
            return true;
        if (stream->begin == stream->end) {
            if (!stream->ended)
                return true;
            if (!find_rest(container))
                container_stream_close(container);
            continue;
        }
        if (!stream->taken_over) {
            take_head(container);
            continue;
        }
        ptrdiff_t taken = frame_reader_next(&stream->frames, stream->chunk + stream->begin,
                                            stream->end - stream->begin, &stream->piece);
        if (taken < 0) {
            break_stream(container, "a frame has no valid header");
            return true;
        }
        stream->begin += (size_t)taken;
    }
}

/* Nothing more comes; what came may be looked at. */
static void take_end(struct container *container, bool cut)
{
    struct container_stream *stream = &container->stream;
    /* Anyone on the way can cut a connection; only the engine can end one that is TLS. */
    bool broken = cut && container->address.certificates[0] != '\0';
    bool whole = !broken && stream->taken_over && frame_reader_at_boundary(&stream->frames);
    if (whole || container->removing)
        stream->ended = true;
    else
        break_stream(container, "it ended too early");
}

/* true: something came, or the end. */
static bool receive(struct container *container)
{
    struct container_stream *stream = &container->stream;
    if (stream->ended)
        return false;
    ssize_t count =
        engine_connection_receive(stream->connection, stream->chunk, sizeof(stream->chunk));
    stream->more = count > 0;
    if (count < 0 && errno == EAGAIN)
        return false;
    if (count <= 0) {
        take_end(container, count < 0);
        return true;
    }
    stream->begin = 0;
    stream->end = (size_t)count;
    return true;
}

void container_stream_handle(struct container *container)
{
    struct container_stream *stream = &container->stream;
    if (!stream->connection || !stream->connected)
        return;
    if (!stream->asked_whole && !ask_for_stream(container)) {
        break_stream(container, "it does not accept the request");
        return;
    }
    if (!stream->asked_whole)
        return;
    send_what_is_due(container);
    /* One chunk a round: a program that keeps printing must not keep the others waiting. */
    if (digest(container) && stream->connection && receive(container))
        (void)digest(container);
}

bool container_stream_is_ready(const struct container *container)
{
    const struct container_stream *stream = &container->stream;
    return stream->connection && stream->more && !stream->output.length;
}

/* Receiving over TLS may have to write too, but only while nothing of ours fills the socket's
 * buffer, so that it need not wait for that. */
short container_stream_interest(const struct container *container)
{
    const struct container_stream *stream = &container->stream;
    if (!stream->connection || !stream->connected || stream->ended || stream->output.length)
        return 0;
    bool sends = !stream->asked_whole || has_to_send(container);
    return (short)(CURL_WAIT_POLLIN | (sends ? CURL_WAIT_POLLOUT : 0));
}

int container_stream_blocked_pipe(const struct container *container)
{
    return container->stream.output.length ? pipe_of(container) : -1;
}
