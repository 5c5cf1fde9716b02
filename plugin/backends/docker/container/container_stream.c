/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the stream between the plugin's pipes and the container: the attached connection, the
 * message to the guest, its report, then the program's output and end. Runs in the docker backend.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/container/container.h"
#include "base/cleanup.h"

#define SEND_LIMIT (UINT64_C(1) << 20) /* bytes of a message in one round */

static void take_connection(void *user, const struct engine_answer *answer)
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
        .done = take_connection,
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
    message_sender_close(&stream->sender);
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
    const struct container_job *job = container->job;
    return stream->waiting && job && (!job->started || job->sends) && !container->removing &&
           !stream->sender.over;
}

/* 1: nothing of it is left to send; 0: the connection takes no more now; -1: it is broken. */
static int send_rest(struct container_stream *stream, const void *bytes, size_t length,
                     size_t *sent)
{
    while (*sent < length) {
        ssize_t count = engine_connection_send(
            stream->connection, (const unsigned char *)bytes + *sent, length - *sent);
        if (count == 0 || (count < 0 && errno == EAGAIN))
            return 0;
        *sent = count < 0 ? length : *sent + (size_t)count;
        if (count < 0)
            return -1;
    }
    return 1;
}

static void ask_for_stream(struct container *container)
{
    struct container_stream *stream = &container->stream;
    char request[512];
    int length = snprintf(request, sizeof(request),
                          "POST /v1.%u/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1 "
                          "HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
                          "Content-Length: 0\r\n\r\n",
                          container->api, container->id);
    int outcome = send_rest(stream, request, (size_t)length, &stream->asked);
    stream->asked_whole = outcome > 0;
    if (outcome < 0)
        break_stream(container, "it does not accept the request");
}

/* A cell fails by it, and a run does not begin. */
static void refuse_file(struct container *container, int error_number)
{
    struct container_job *job = container->job;
    if (job->sends) {
        run_message_refuse(&job->message, container->stream.sender.filled);
        message_sender_fill(&container->stream.sender, &job->message);
        return;
    }
    struct message_sender *sender = &container->stream.sender;
    const char *path = container->job->message.gaps[sender->filled].file->path;
    struct engine_fault fault;
    if (error_number == 0)
        engine_fault_set(&fault, ENGINE_PROBLEM_NONE, "%.200s", path);
    else
        engine_fault_set(&fault, ENGINE_PROBLEM_NONE, "%.100s: %.100s", path,
                         strerror(error_number));
    message_sender_close(sender);
    container->environment->events->failed(container->job->run, RUN_FAILURE_INPUT_FILE, &fault);
}

/* Between two messages. One byte is taken or not. */
static bool send_orders(struct container *container)
{
    struct container_job *job = container->job;
    while (job && job->started && job->order_count > 0 && !container->removing) {
        if (engine_connection_send(container->stream.connection, job->orders, 1) != 1)
            return false;
        memmove(job->orders, job->orders + 1, --job->order_count);
    }
    return true;
}

/* All of a cell is sent. */
static void forget_message(struct container *container)
{
    struct container_job *job = container->job;
    if (!job || !job->sends || !container->stream.sender.over)
        return;
    job->sends = false;
    run_message_clear(&job->message);
    close_fd(TAKE_FD(job->inputs));
}

/* A broken connection is the container's end, which the receiving side meets. So many bytes a
 * round: a large file must not delay other runs. */
static void send_input(struct container *container)
{
    struct container_stream *stream = &container->stream;
    uint64_t until = stream->sender.total + SEND_LIMIT;
    bool begins = stream->sender.total == 0 || !has_to_send(container);
    if (!container_send_rest(container) || (begins && !send_orders(container)))
        return;
    while (has_to_send(container) && stream->sender.total < until) {
        struct message_piece piece;
        int outcome = message_sender_next(&stream->sender, &container->job->message,
                                          container->job->inputs, &piece);
        bool goes_on = outcome > 0 || (outcome < 0 && container->job->sends);
        if (outcome < 0)
            refuse_file(container, errno);
        else if (outcome == 0)
            forget_message(container);
        if (!goes_on)
            return;
        if (outcome < 0)
            continue;
        ssize_t count = engine_connection_send(stream->connection, piece.bytes, piece.length);
        if (count == 0 || (count < 0 && errno == EAGAIN))
            return;
        if (count < 0)
            message_sender_close(&stream->sender);
        else
            message_sender_take(&stream->sender, (size_t)count);
    }
    container_pass_sockets_on(container);
}

/* The message is sent by then, so there is room for a byte wherever the connection is whole, and
 * nothing of answers waits for it. */
static bool send_end(struct container *container)
{
    static const char order = GUEST_ORDER_END;
    if (container_is_sending(container))
        return container_send_order(container, order);
    return engine_connection_send(container->stream.connection, &order, sizeof(order)) == 1;
}

bool container_order_end(struct container *container)
{
    const struct container_stream *stream = &container->stream;
    bool is_between = !container->job || (!container->job->sends && !container->job->order_count);
    container->ordered = is_between && stream->connection && stream->started && !stream->ended &&
                         !container->end.reported && !container->removing && send_end(container);
    return container->ordered;
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

/* Only the guest's loader, or an engine in its place, writes there. */
static void note_errors(struct container_stream *stream)
{
    struct frame_piece *piece = &stream->piece;
    size_t length = strlen(stream->errors);
    for (; piece->length && length + 1 < sizeof(stream->errors); piece->length--, piece->bytes++)
        if (*piece->bytes >= ' ' && *piece->bytes < 0x7f)
            stream->errors[length++] = (char)*piece->bytes;
    piece->length = 0;
}

/* A frame that may come once, and only before the program's start. */
static void fail_start(struct container *container, const struct guest_piece *said)
{
    const struct container_events *events = container->environment->events;
    char message[160];
    if (said->kind == GUEST_MISSING && container->job) {
        events->missing(container->job->run);
        return;
    }
    (void)snprintf(message, sizeof(message), "%.*s", (int)said->length, (const char *)said->bytes);
    container_fail(container, message);
}

/* What the guest says before the program's start. false: it is out of turn. */
static bool take_report(struct container *container, const struct guest_piece *said)
{
    struct container_stream *stream = &container->stream;
    if (said->kind == GUEST_FACTS && !stream->waiting) {
        stream->facts = guest_facts_read(said->bytes, said->length);
        stream->landlock_abi = guest_facts_landlock(said->bytes, said->length);
    } else if (said->kind == GUEST_WAITING && !stream->waiting) {
        stream->waiting = true;
        if (container->job)
            container->environment->events->waits(container->job->run);
    } else if (said->kind == GUEST_STARTED && stream->waiting && container->job) {
        stream->started = true;
        container->environment->events->started(container->job->run);
    } else if (said->kind == GUEST_FAILED ||
               (said->kind == GUEST_MISSING && stream->waiting && container->job)) {
        fail_start(container, said);
    } else {
        return false;
    }
    return true;
}

/* The same behind the program's end, once all its output was passed on. Without a run, it is
 * dropped with the rest. */
static bool take_files(struct container *container, const struct guest_piece *said)
{
    struct container_stream *stream = &container->stream;
    if (stream->collected || (container->job && !container->job->collects))
        return false;
    if (said->kind == GUEST_FILES)
        stream->output = *said;
    else
        stream->collected = said->kind == GUEST_COLLECTED;
    return said->kind == GUEST_FILES || stream->collected;
}

/* The same of a program that was started. */
static bool take_program(struct container *container, const struct guest_piece *said)
{
    struct container_stream *stream = &container->stream;
    struct container_end *end = &container->end;
    if (end->reported)
        return take_files(container, said);
    if (said->kind == GUEST_ENDED)
        return end->reported = guest_end_read(said->bytes, said->length, &end->program);
    bool is_good;
    if (container_session_take(container, said, &is_good) ||
        container_tools_take(container, said, &is_good))
        return is_good;
    if (!guest_kind_is_program(said->kind))
        return false;
    stream->output = *said;
    return true;
}

/* The guest's next word in the piece. */
static void take_guest(struct container *container)
{
    struct container_stream *stream = &container->stream;
    struct frame_piece *piece = &stream->piece;
    struct guest_piece said;
    ptrdiff_t taken = guest_reader_next(&stream->guest, piece->bytes, piece->length, &said);
    if (taken >= 0) {
        piece->bytes += taken;
        piece->length -= (size_t)taken;
    }
    if (taken >= 0 && (said.kind == 0 || (stream->started ? take_program(container, &said)
                                                          : take_report(container, &said))))
        return;
    piece->length = 0;
    container_fail(container, "the container's first process does not speak as it should");
}

static int pipe_of(const struct container *container)
{
    static const enum job_pipe pipes[GUEST_KIND_END] = {
        [GUEST_STDOUT] = JOB_STDOUT,           [GUEST_STDERR] = JOB_STDERR,
        [GUEST_RESULTS] = JOB_RESULTS,         [GUEST_FILES] = JOB_FILES,
        [GUEST_LATE_STDOUT] = JOB_LATE_STDOUT, [GUEST_LATE_STDERR] = JOB_LATE_STDERR,
        [GUEST_ENDPOINTS] = JOB_ENDPOINTS};
    if (!container->job)
        return -1;
    return container->job->pipes[pipes[container->stream.output.kind]];
}

/* true: the output is written, or dropped because the plugin has closed the pipe. */
static bool write_output(struct container *container)
{
    struct guest_piece *output = &container->stream.output;
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

/* false: a pipe takes no more. */
static bool digest_piece(struct container *container)
{
    struct container_stream *stream = &container->stream;
    while (stream->piece.length || stream->output.length) {
        if (stream->output.length) {
            if (!write_output(container))
                return false;
        } else if (stream->piece.stream == FRAME_STDERR) {
            note_errors(stream);
        } else {
            take_guest(container);
        }
    }
    return true;
}

/* Passes on the whole chunk. false: a pipe takes no more. */
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
            container_stream_close(container);
            return true;
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

/* Nothing more will be received; the chunk may still hold bytes. */
static void take_end_of_stream(struct container *container, bool cut)
{
    struct container_stream *stream = &container->stream;
    /* Anyone on the way can cut a connection; over TLS only the engine can end one. */
    bool broken = cut && container->address.certificates[0] != '\0';
    bool whole = !broken && stream->taken_over && frame_reader_at_boundary(&stream->frames);
    if (whole || container->removing)
        stream->ended = true;
    else
        break_stream(container, "it ended too early");
}

/* true: something was received, or the end. */
static bool receive_chunk(struct container *container)
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
        take_end_of_stream(container, count < 0);
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
    if (!stream->asked_whole)
        ask_for_stream(container);
    if (!stream->asked_whole)
        return;
    send_input(container);
    if (!stream->connection)
        return;
    /* One chunk a round: a program that keeps printing must not delay other runs. */
    if (digest(container) && stream->connection && receive_chunk(container))
        (void)digest(container);
}

bool container_stream_is_ready(const struct container *container)
{
    const struct container_stream *stream = &container->stream;
    return stream->connection && stream->more && !stream->output.length;
}

/* Receiving over TLS may have to write too. That needs no POLLOUT: the socket's buffer has room
 * whenever nothing of ours waits to be sent. */
short container_stream_interest(const struct container *container)
{
    const struct container_stream *stream = &container->stream;
    if (!stream->connection || !stream->connected || stream->ended)
        return 0;
    bool sends = !stream->asked_whole || has_to_send(container) ||
                 container_is_sending(container) ||
                 (container->job && container->job->order_count > 0);
    return (short)((stream->output.length ? 0 : CURL_WAIT_POLLIN) |
                   (sends ? CURL_WAIT_POLLOUT : 0));
}

int container_stream_blocked_pipe(const struct container *container)
{
    return container->stream.output.length ? pipe_of(container) : -1;
}
