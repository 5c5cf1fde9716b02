/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the stream between the plugin's pipes and the container: the attached connection, the
 * message to the guest, its report, then the program's output and end. Runs in a backend of
 * containers.
 */
#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/guest_runs/container/container.h"
#include "base/cleanup.h"

#define SEND_LIMIT (UINT64_C(1) << 20) /* bytes of a message in one round */

static const struct attached_form *form_of(const struct container *container)
{
    return container->environment->provider->form;
}

bool container_stream_open(struct container *container)
{
    container->stream.open = form_of(container)->open(container);
    return container->stream.open;
}

void container_stream_connected(struct container *container)
{
    container->stream.connected = true;
    container_stream_handle(container);
}

void container_stream_close(struct container *container)
{
    struct container_stream *stream = &container->stream;
    form_of(container)->close(container);
    stream->open = false;
    stream->piece.length = stream->output.length = 0;
    stream->begin = stream->end = 0;
    message_sender_close(&stream->sender);
    stream->over = true;
}

/* It is broken, by that fault. */
static void break_by_fault(struct container *container, const struct engine_fault *fault)
{
    container_stream_close(container);
    container_fail_engine(container, fault);
}

static void break_stream(struct container *container, const char *why)
{
    struct engine_fault fault;
    engine_fault_set(&fault, FAULT_SILENT, "%s's stream is broken: %s",
                     container->environment->provider->name, why);
    break_by_fault(container, &fault);
}

static bool has_to_send(const struct container *container)
{
    const struct container_stream *stream = &container->stream;
    const struct container_job *job = container->job;
    return stream->waiting && job && !container->held && (!job->started || job->sends) &&
           !container->removing && !stream->sender.over;
}

static void ask_for_stream(struct container *container)
{
    int outcome = form_of(container)->ask(container);
    container->stream.asked_whole = outcome > 0;
    if (outcome < 0)
        break_stream(container, "it does not accept the request");
}

/* With it a cell fails, and a run does not begin. */
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
        engine_fault_set(&fault, FAULT_NONE, "%.200s", path);
    else
        engine_fault_set(&fault, FAULT_NONE, "%.100s: %.100s", path, strerror(error_number));
    message_sender_close(sender);
    container->environment->events->failed(container->job->run, RUN_FAILURE_INPUT_FILE, &fault);
}

/* Between two messages. One byte is taken or not. */
static bool send_orders(struct container *container)
{
    struct container_job *job = container->job;
    while (job && job->started && job->order_count > 0 && !container->removing) {
        if (form_of(container)->send(container, job->orders, 1) != 1)
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
        ssize_t count = form_of(container)->send(container, piece.bytes, piece.length);
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
    return form_of(container)->send(container, &order, sizeof(order)) == 1;
}

bool container_order_end(struct container *container)
{
    const struct container_stream *stream = &container->stream;
    bool is_between = !container->job || (!container->job->sends && !container->job->order_count);
    container->ordered = is_between && stream->open && stream->started && !stream->ended &&
                         !container->end.reported && !container->removing && send_end(container);
    return container->ordered;
}

/* Only the guest's loader, or an engine in its place, writes there. */
static void note_errors(struct container_stream *stream)
{
    struct attached_piece *piece = &stream->piece;
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

/* Takes a frame from before the program's start. false: it came out of turn. */
static bool take_report(struct container *container, const struct guest_piece *said)
{
    struct container_stream *stream = &container->stream;
    const char *digest = container->environment->guest_digest;
    if (said->kind == GUEST_FACTS && !stream->waiting) {
        stream->facts = guest_facts_read(said->bytes, said->length);
        stream->landlock_abi = guest_facts_landlock(said->bytes, said->length);
        stream->is_known_guest = !digest || guest_facts_are_of(said->bytes, said->length, digest);
    } else if (said->kind == GUEST_NETWORK && !stream->waiting) {
        const struct guest_provider *provider = container->environment->provider;
        return provider->take_network &&
               provider->take_network(container, said->bytes, said->length);
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
    struct attached_piece *piece = &stream->piece;
    struct guest_piece said;
    if (stream->guest.is_broken) { /* that has failed it already */
        piece->length = 0;
        return;
    }
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
        } else if (stream->piece.word == ATTACHED_STDERR) {
            note_errors(stream);
        } else {
            take_guest(container);
        }
    }
    return true;
}

/* Takes the next piece of the chunk. */
static void take_piece(struct container *container)
{
    struct container_stream *stream = &container->stream;
    struct engine_fault fault;
    ptrdiff_t taken = form_of(container)->feed(container, stream->chunk + stream->begin,
                                               stream->end - stream->begin, &stream->piece, &fault);
    if (taken < 0) {
        stream->piece.length = 0;
        break_by_fault(container, &fault);
        return;
    }
    stream->begin += (size_t)taken;
    if (stream->piece.word == ATTACHED_END) {
        stream->begin = stream->end;
        stream->ended = true;
    } else if (stream->piece.word == ATTACHED_OPENED) {
        stream->taken_over = true;
        container->environment->provider->start(container);
    }
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
            if (stream->ended)
                container_stream_close(container);
            return true;
        }
        take_piece(container);
    }
}

/* Nothing more will be received; the chunk may still hold bytes. */
static void take_end_of_stream(struct container *container, bool cut)
{
    if (form_of(container)->is_whole(container, cut) || container->removing)
        container->stream.ended = true;
    else
        break_stream(container, "it ended too early");
}

/* true: something was received, or the end. */
static bool receive_chunk(struct container *container)
{
    struct container_stream *stream = &container->stream;
    if (stream->ended)
        return false;
    ssize_t count = form_of(container)->receive(container, stream->chunk, sizeof(stream->chunk));
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
    if (!stream->open || !stream->connected)
        return;
    if (!stream->asked_whole)
        ask_for_stream(container);
    if (!stream->asked_whole)
        return;
    if (form_of(container)->flush)
        form_of(container)->flush(container);
    send_input(container);
    if (!stream->open)
        return;
    /* One chunk a round: a program that keeps printing must not delay other runs. */
    if (digest(container) && stream->open && receive_chunk(container))
        (void)digest(container);
}

bool container_stream_is_ready(const struct container *container)
{
    const struct container_stream *stream = &container->stream;
    return stream->open && stream->more && !stream->output.length;
}

/* Receiving over TLS may have to write too. That needs no POLLOUT: the socket's buffer has room
 * whenever nothing of ours waits to be sent. */
short container_stream_interest(const struct container *container)
{
    const struct container_stream *stream = &container->stream;
    if (!stream->open || !stream->connected || stream->ended)
        return 0;
    bool (*has_unsent)(const struct container *) = form_of(container)->has_unsent;
    bool sends = !stream->asked_whole || has_to_send(container) ||
                 container_is_sending(container) || (has_unsent && has_unsent(container)) ||
                 (container->job && container->job->order_count > 0);
    return (short)((stream->output.length ? 0 : CURL_WAIT_POLLIN) |
                   (sends ? CURL_WAIT_POLLOUT : 0));
}

int container_stream_blocked_pipe(const struct container *container)
{
    return container->stream.output.length ? pipe_of(container) : -1;
}
