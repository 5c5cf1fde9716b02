/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the stream between the plugin's pipes and the container: the attached connection, the
 * message to the bootstrap, its report, then the program's output. Runs in the docker backend. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../cleanup.h"
#include "run_private.h"

static void connected(void *user, const struct engine_answer *answer)
{
    struct run *run = user;
    if (answer->fault.problem != ENGINE_PROBLEM_NONE) {
        run_fail_engine(run, &answer->fault);
        return;
    }
    run->stream.connected = true;
    run_stream_handle(run);
}

bool run_stream_open(struct run *run)
{
    const struct engine_request request = {
        .address = &run->engine->address,
        .connection = true,
        .done = connected,
        .user = run,
    };
    run->stream.connection = engine_call_start(run->environment->client, &request);
    return run->stream.connection != NULL;
}

static void wipe_message(struct run_stream *stream)
{
    if (stream->message)
        explicit_bzero(stream->message, stream->length);
    free(TAKE_POINTER(stream->message));
    stream->length = stream->sent = 0;
}

void run_stream_close(struct run *run)
{
    struct run_stream *stream = &run->stream;
    engine_call_cancel(TAKE_POINTER(stream->connection));
    wipe_message(stream);
    stream->piece.length = 0;
    stream->begin = stream->end = 0;
    stream->over = true;
}

static void break_stream(struct run *run, const char *why)
{
    struct engine_fault fault;
    engine_fault_set(&fault, ENGINE_PROBLEM_SILENT, "docker's stream is broken: %s", why);
    run_stream_close(run);
    run_fail_engine(run, &fault);
}

/* The whole of it fits into the socket's buffer, which nothing else has written to. */
static bool ask_for_stream(struct run *run)
{
    char request[512];
    int length = snprintf(request, sizeof(request),
                          "POST /v1.%u/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1 "
                          "HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
                          "Content-Length: 0\r\n\r\n",
                          run->engine->facts.api, run->id);
    run->stream.asked = true;
    return engine_connection_send(run->stream.connection, request, (size_t)length) == length;
}

static void send_message(struct run *run)
{
    struct run_stream *stream = &run->stream;
    while (stream->message && stream->sent < stream->length) {
        ssize_t count = engine_connection_send(stream->connection, stream->message + stream->sent,
                                               stream->length - stream->sent);
        /* A broken pipe is the container's end, which is seen elsewhere. */
        if (count < 0 && errno != EAGAIN)
            wipe_message(stream);
        if (count <= 0)
            return;
        stream->sent += (size_t)count;
    }
    wipe_message(stream);
}

static void take_head(struct run *run)
{
    struct run_stream *stream = &run->stream;
    size_t taken = 0;
    enum http_head_state state = http_head_feed(&stream->head, stream->chunk + stream->begin,
                                                stream->end - stream->begin, &taken);
    stream->begin += taken;
    if (state == HTTP_HEAD_MORE)
        return;
    if (state == HTTP_HEAD_BROKEN) {
        break_stream(run, "its head is no HTTP");
        return;
    }
    if (stream->head.status != 101 && stream->head.status != 200) {
        struct engine_fault fault;
        engine_fault_set(&fault, ENGINE_PROBLEM_REFUSED, "docker refused the stream: status %d",
                         stream->head.status);
        run_stream_close(run);
        run_fail_engine(run, &fault);
        return;
    }
    stream->taken_over = true;
    run_start_container(run);
}

/* Before the program: the piece is the bootstrap's, but for what may follow its last word. */
static void take_report(struct run *run)
{
    struct run_stream *stream = &run->stream;
    struct frame_piece *piece = &stream->piece;
    size_t taken = 0;
    stream->state = bootstrap_read(&stream->bootstrap, piece->bytes, piece->length, &taken);
    piece->bytes += taken;
    piece->length -= taken;
    switch (stream->state) {
    case BOOTSTRAP_MORE:
        return;
    case BOOTSTRAP_READY:
        run_report_start(run);
        return;
    case BOOTSTRAP_MISSING:
        run_fail(run, RUN_FAILURE_RUNTIME_MISSING, ENOENT, run->description.argv[0]);
        break;
    case BOOTSTRAP_FAILED:
        run_fail(run, RUN_FAILURE_INTERNAL, 0, stream->bootstrap.detail);
        break;
    }
    piece->length = 0;
}

static void take_errors(struct run_stream *stream)
{
    struct frame_piece *piece = &stream->piece;
    size_t taken = 0;
    stream->errors_state =
        bootstrap_read_errors(&stream->errors, piece->bytes, piece->length, &taken);
    piece->bytes += taken;
    piece->length -= taken;
}

/* true: the piece is dealt with. A reader that has gone wants no more of it. */
static bool write_piece(struct run *run)
{
    struct frame_piece *piece = &run->stream.piece;
    int pipe = piece->stream == FRAME_STDERR ? run->pipes[1] : run->pipes[0];
    while (piece->length) {
        ssize_t count = write(pipe, piece->bytes, piece->length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            return false;
        if (count < 0)
            count = (ssize_t)piece->length;
        piece->bytes += count;
        piece->length -= (size_t)count;
    }
    return true;
}

/* Everything that is in the chunk, as far as the pipes take it. false: they do not. */
static bool digest(struct run *run)
{
    struct run_stream *stream = &run->stream;
    for (;;) {
        while (stream->piece.length) {
            if (stream->piece.stream == FRAME_STDERR && stream->errors_state != BOOTSTRAP_READY)
                take_errors(stream);
            else if (stream->piece.stream != FRAME_STDERR && stream->state != BOOTSTRAP_READY)
                take_report(run);
            else if (!write_piece(run))
                return false;
        }
        if (stream->begin == stream->end || stream->over)
            return true;
        if (!stream->taken_over) {
            take_head(run);
            continue;
        }
        ptrdiff_t taken = frame_reader_next(&stream->frames, stream->chunk + stream->begin,
                                            stream->end - stream->begin, &stream->piece);
        if (taken < 0) {
            break_stream(run, "a frame has no head");
            return true;
        }
        stream->begin += (size_t)taken;
    }
}

/* true: something came. */
static bool receive(struct run *run)
{
    struct run_stream *stream = &run->stream;
    ssize_t count =
        engine_connection_receive(stream->connection, stream->chunk, sizeof(stream->chunk));
    stream->more = count > 0;
    if (count < 0 && errno == EAGAIN)
        return false;
    if (count <= 0) {
        /* Anyone on the way can cut a connection; only the engine can end one that is TLS. */
        bool cut = count < 0 && run->engine->address.certificates[0] != '\0';
        bool whole = !cut && stream->taken_over && frame_reader_at_boundary(&stream->frames);
        if (whole || run->removing)
            run_stream_close(run);
        else
            break_stream(run, "it ended in the middle");
        run_check_end(run);
        return false;
    }
    stream->begin = 0;
    stream->end = (size_t)count;
    return true;
}

void run_stream_handle(struct run *run)
{
    struct run_stream *stream = &run->stream;
    if (!stream->connection || !stream->connected)
        return;
    if (!stream->asked && !ask_for_stream(run)) {
        break_stream(run, "it takes no request");
        return;
    }
    if (run->stream.message && run->created && stream->taken_over)
        send_message(run);
    /* One chunk a round: a program that keeps printing must not keep the others waiting. */
    if (digest(run) && stream->connection && receive(run))
        (void)digest(run);
}

bool run_stream_is_ready(const struct run *run)
{
    const struct run_stream *stream = &run->stream;
    return stream->connection && stream->more && !stream->piece.length;
}

/* Receiving over TLS may have to write too, but only while nothing of ours fills the socket's
 * buffer, so that it need not wait for that. */
short run_stream_interest(const struct run *run)
{
    const struct run_stream *stream = &run->stream;
    if (!stream->connection || !stream->asked || stream->piece.length)
        return 0;
    return (short)(CURL_WAIT_POLLIN |
                   (stream->message && stream->taken_over ? CURL_WAIT_POLLOUT : 0));
}

int run_stream_blocked_pipe(const struct run *run)
{
    if (!run->stream.piece.length)
        return -1;
    return run->stream.piece.stream == FRAME_STDERR ? run->pipes[1] : run->pipes[0];
}
