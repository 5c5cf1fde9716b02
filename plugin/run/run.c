/* SPDX-License-Identifier: Apache-2.0 */
/* The poll loop around one run. Runs in the gateway, on the thread inside tool_invoke(). */
#include "run/run.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/locked_memory.h"
#include "host/host.h"
#include "protocol/channel.h"
#include "run/backend_client.h"

/* The backend keeps the program's time; these bound the backend itself. */
#define SETUP_LIMIT_MS 20000 /* from the hand-over, or the last word, to STARTED */
/* From the hand-over until who waits is told, once, that the start takes long. */
#define PATIENCE_MS 3000
/* From the program's deadline, or from an order to end, to ENDED. An engine takes its time to
 * remove a container. */
#define CHUNK_BYTES    65536
#define SPARE_BYTES    512   /* to read to where there is no memory for a chunk */
#define IN_PLACE_BYTES 16384 /* fewer than these are too few for a read of a flood */

struct loop {
    struct run *run;
    struct backend_run backend;
    unsigned char *chunk; /* NULL: not needed yet */
    unsigned char spare[SPARE_BYTES];
    uint64_t produced; /* bytes read from the pipes of standard output and error */
    uint64_t framed;   /* and from that of the results */
    uint64_t deadline_ms;
    uint64_t told_at_ms; /* when it is told that the start takes long; UINT64_MAX: not any more */
    bool ordered_to_end;
    bool lost_backend;
    struct run_outcome outcome;
};

enum loop_entry {
    LOOP_EVENTS,
    LOOP_STDOUT,
    LOOP_STDERR,
    LOOP_RESULTS,
    LOOP_FILES,
    LOOP_CANCEL,
    LOOP_ENTRY_COUNT
};

static void pass_on(void *user, const void *bytes, size_t length)
{
    struct run_stream *stream = user;
    output_capture_add(&stream->capture, bytes, length);
    host_output(stream->host, stream->id, bytes, length);
}

static uint64_t grace_ms(const struct run *run)
{
    return sandbox_mode_row(run->mode)->grace_ms;
}

/* Only the first order counts: it is the reason. */
static void order_end(struct loop *loop, enum run_order order)
{
    if (loop->ordered_to_end)
        return;
    loop->ordered_to_end = true;
    loop->told_at_ms = UINT64_MAX;
    const unsigned char byte = (unsigned char)order;
    (void)channel_send(loop->backend.events, &byte, sizeof(byte), NULL,
                       0); /* its death is seen on the socket */
    loop->deadline_ms = monotonic_ms() + grace_ms(loop->run);
}

/* Where the stream is kept, for a read without a copy in between. 0: it has to be looked through
 * for secrets first, or there is no place, or too small a one for the rest of a flood. */
static int find_places(struct run_stream *stream, struct iovec ret[2])
{
    if (!redaction_empty(stream->redaction.redaction))
        return 0;
    int count = output_capture_places(&stream->capture, ret);
    size_t room = count > 0 ? ret[0].iov_len : 0;
    room += count > 1 ? ret[1].iov_len : 0;
    bool is_flood = stream->capture.total >= stream->capture.limit;
    return is_flood && room < IN_PLACE_BYTES ? 0 : count;
}

static void check_output_limit(struct loop *loop)
{
    uint64_t limit = loop->run->output_limit;
    if (limit > 0 && loop->produced + loop->framed > limit)
        order_end(loop, RUN_ORDER_OUTPUT_LIMIT);
}

static bool is_open_after(ssize_t length)
{
    return length > 0 || (length < 0 && (errno == EAGAIN || errno == EINTR));
}

static struct iovec plain_chunk(struct loop *loop)
{
    if (!loop->chunk)
        loop->chunk = malloc(CHUNK_BYTES);
    if (!loop->chunk)
        return (struct iovec){loop->spare, sizeof(loop->spare)};
    return (struct iovec){loop->chunk, CHUNK_BYTES};
}

/* Where there are secrets, in the locked memory of the stream's redaction. */
static struct iovec find_chunk(struct loop *loop, struct run_stream *stream)
{
    if (!redaction_empty(stream->redaction.redaction)) {
        void *room = redaction_room(&stream->redaction, CHUNK_BYTES);
        return room ? (struct iovec){room, CHUNK_BYTES}
                    : (struct iovec){loop->spare, sizeof(loop->spare)};
    }
    return plain_chunk(loop);
}

/* What was read to where it is kept. */
static void keep_in_place(struct run_stream *stream, const struct iovec places[2], size_t length)
{
    size_t first = length < places[0].iov_len ? length : places[0].iov_len;
    output_capture_put(&stream->capture, length);
    host_output(stream->host, stream->id, places[0].iov_base, first);
    if (length > first)
        host_output(stream->host, stream->id, places[1].iov_base, length - first);
}

/* What was read to where find_chunk() said. */
static void keep_chunk(struct loop *loop, struct run_stream *stream, const struct iovec *place,
                       size_t length)
{
    bool is_room = !redaction_empty(stream->redaction.redaction) && place->iov_base != loop->spare;
    if (is_room)
        redaction_take(&stream->redaction, length, pass_on, stream);
    else
        redaction_feed(&stream->redaction, place->iov_base, length, pass_on, stream);
}

/* One read. false at end of file or when nothing is there. */
static bool drain_once(struct loop *loop, int *fd, struct run_stream *stream)
{
    struct iovec places[2];
    if (*fd < 0)
        return false;
    int count = find_places(stream, places);
    bool in_place = count > 0;
    if (!in_place)
        places[0] = find_chunk(loop, stream);
    ssize_t length = readv(*fd, places, in_place ? count : 1);
    if (length > 0) {
        loop->produced += (uint64_t)length;
        if (in_place)
            keep_in_place(stream, places, (size_t)length);
        else
            keep_chunk(loop, stream, &places[0], (size_t)length);
        check_output_limit(loop);
        return true;
    }
    if (!is_open_after(length))
        close_fd(TAKE_FD(*fd));
    return false;
}

/* Whatever is there is read, wanted or not: a full pipe would hold the program up. */
static bool read_frames(struct loop *loop)
{
    struct iovec place = plain_chunk(loop);
    ssize_t length = readv(loop->backend.results_fd, &place, 1);
    if (length > 0) {
        loop->framed += (uint64_t)length;
        frame_reader_feed(&loop->run->results, place.iov_base, (size_t)length);
        explicit_bzero(place.iov_base, (size_t)length); /* not looked through for secrets yet */
        check_output_limit(loop);
        return true;
    }
    if (!is_open_after(length))
        close_fd(TAKE_FD(loop->backend.results_fd));
    return false;
}

/* As drain_pipe(). */
static void drain_frames(struct loop *loop)
{
    int there = 0;
    if (loop->backend.results_fd < 0 || ioctl(loop->backend.results_fd, FIONREAD, &there) != 0)
        return;
    uint64_t end = loop->framed + (uint64_t)there;
    while (loop->backend.results_fd >= 0 && loop->framed < end && read_frames(loop))
        continue;
}

/* What is in the pipe now, and no more: a program whose backend is silent, or lied about its end,
 * goes on printing. */
static void drain_pipe(struct loop *loop, int *fd, struct run_stream *stream)
{
    int there = 0;
    if (*fd < 0 || ioctl(*fd, FIONREAD, &there) != 0)
        return;
    uint64_t end = loop->produced + (uint64_t)there;
    while (loop->produced < end && drain_once(loop, fd, stream))
        continue;
}

/* After the end: what the dead tree left in the pipes. */
static void drain_rest(struct loop *loop)
{
    drain_pipe(loop, &loop->backend.stdout_fd, &loop->run->output);
    drain_pipe(loop, &loop->backend.stderr_fd, &loop->run->errors);
    drain_frames(loop);
    redaction_flush(&loop->run->output.redaction, pass_on, &loop->run->output);
    redaction_flush(&loop->run->errors.redaction, pass_on, &loop->run->errors);
}

static int take_start(struct loop *loop, const struct run_event *event, struct error *error)
{
    uint64_t wall_ms = loop->run->description->limits.wall_ms;
    if (loop->outcome.started)
        return error_set(error, ERROR_BACKEND_FAILED, "the backend started the run twice");
    loop->outcome.started = true;
    loop->told_at_ms = UINT64_MAX;
    loop->outcome.ended.isolation = event->isolation; /* holds even if no end is heard of */
    loop->outcome.ended.details = event->details;
    memcpy(loop->outcome.ended.image_id, event->image_id, sizeof(event->image_id));
    loop->outcome.ended.origin = event->origin;
    if (!loop->ordered_to_end)
        loop->deadline_ms =
            wall_ms > 0 ? monotonic_ms() + wall_ms + grace_ms(loop->run) : UINT64_MAX;
    return 0;
}

/* An image is being fetched: that takes as long as it takes, as long as it goes on. */
static int take_progress(struct loop *loop, const struct run_event *event, struct error *error)
{
    if (loop->outcome.started)
        return error_set(error, ERROR_BACKEND_FAILED, "the backend prepares a run it has started");
    if (!loop->ordered_to_end)
        loop->deadline_ms = monotonic_ms() + SETUP_LIMIT_MS;
    loop->told_at_ms = UINT64_MAX; /* it has words of its own */
    if (event->message[0] != '\0')
        host_output(loop->run->output.host, TOOL_STREAM_PROGRESS, event->message,
                    strlen(event->message));
    return 0;
}

static int take_end(struct loop *loop, const struct run_event *event, bool *ret_ended,
                    struct error *error)
{
    uint32_t purpose = loop->run->description->purpose;
    bool has_program = purpose == RUN_PURPOSE_PROGRAM || purpose == RUN_PURPOSE_TRIAL;
    if (has_program && !loop->outcome.started && event->failure == RUN_FAILURE_NONE &&
        event->cause == RUN_CAUSE_EXIT)
        return error_set(error, ERROR_BACKEND_FAILED,
                         "the backend ended a run that it had not started");
    loop->outcome.ended = *event;
    *ret_ended = true;
    return 0;
}

static int take_event(struct loop *loop, bool *ret_ended, struct error *error)
{
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    size_t fd_count = 0;
    ssize_t length =
        channel_receive(loop->backend.events, message, sizeof(message), NULL, 0, &fd_count);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    bool too_long = length < 0 && errno == EMSGSIZE;
    if (length <= 0 && !too_long) {
        backend_note_end(loop->run->mode, &loop->backend);
        loop->lost_backend = true;
        return error_set(error, ERROR_BACKEND_FAILED, "the backend ended during the run");
    }
    struct run_event event;
    if (too_long || !run_event_decode(message, (size_t)length, &event))
        return error_set(error, ERROR_BACKEND_FAILED, "the backend sent an unreadable message");
    if (event.type == RUN_EVENT_PROGRESS)
        return take_progress(loop, &event, error);
    if (event.type == RUN_EVENT_STARTED)
        return take_start(loop, &event, error);
    return take_end(loop, &event, ret_ended, error);
}

static int give_up(struct loop *loop, struct error *error)
{
    /* One that has not even begun the run hangs, and would do so for every call after this one. */
    if (!loop->outcome.started && !loop->ordered_to_end)
        backend_give_up(loop->run->mode, &loop->backend);
    return error_set(error, ERROR_BACKEND_FAILED,
                     "the backend did not answer in time; the run was ended");
}

/* Once: a sandbox that is made on a machine that is busy, or for the first time. */
static void tell_patience(struct loop *loop)
{
    static const char text[] = "the sandbox is slow to start; still waiting for it";
    if (loop->told_at_ms == UINT64_MAX || monotonic_ms() < loop->told_at_ms)
        return;
    loop->told_at_ms = UINT64_MAX;
    host_output(loop->run->output.host, TOOL_STREAM_PROGRESS, text, strlen(text));
}

static int poll_once(struct loop *loop, bool *ret_ended, struct error *error)
{
    struct pollfd entries[LOOP_ENTRY_COUNT] = {
        [LOOP_EVENTS] = {.fd = loop->backend.events, .events = POLLIN},
        [LOOP_STDOUT] = {.fd = loop->backend.stdout_fd, .events = POLLIN},
        [LOOP_STDERR] = {.fd = loop->backend.stderr_fd, .events = POLLIN},
        [LOOP_RESULTS] = {.fd = loop->backend.results_fd, .events = POLLIN},
        [LOOP_FILES] = {.fd = loop->run->files.fd, .events = POLLIN},
        [LOOP_CANCEL] = {.fd = loop->ordered_to_end ? -1 : loop->run->cancel_fd, .events = POLLIN},
    };
    tell_patience(loop);
    uint64_t wake_ms = loop->told_at_ms < loop->deadline_ms ? loop->told_at_ms : loop->deadline_ms;
    int ready = poll(entries, LOOP_ENTRY_COUNT, deadline_poll_timeout(wake_ms));
    if (ready < 0 && errno != EINTR)
        return error_set_errno(error, ERROR_BACKEND_FAILED, errno, "waiting for the run failed");
    if (ready < 0)
        return 0;
    /* Checked on every round: a program that keeps printing must not postpone its end. What the
     * backend has said already counts, however late this host is. */
    if (entries[LOOP_EVENTS].revents == 0 && monotonic_ms() > loop->deadline_ms)
        return give_up(loop, error);
    if (entries[LOOP_CANCEL].revents != 0)
        order_end(loop, RUN_ORDER_CANCEL);
    if (entries[LOOP_STDOUT].revents != 0)
        (void)drain_once(loop, &loop->backend.stdout_fd, &loop->run->output);
    if (entries[LOOP_STDERR].revents != 0)
        (void)drain_once(loop, &loop->backend.stderr_fd, &loop->run->errors);
    if (entries[LOOP_RESULTS].revents != 0)
        (void)read_frames(loop);
    if (entries[LOOP_FILES].revents != 0)
        file_stream_read(&loop->run->files);
    if (entries[LOOP_EVENTS].revents != 0)
        return take_event(loop, ret_ended, error);
    return 0;
}

static void close_loop(struct loop *loop)
{
    backend_run_close(&loop->backend);
    close_fd(TAKE_FD(loop->run->files.fd));
    free(loop->chunk);
    explicit_bzero(loop->spare, sizeof(loop->spare)); /* of output that was not looked through */
}

bool run_execute(struct run *run, struct run_outcome *ret, struct error *error)
{
    CLEANUP(close_loop)
    struct loop loop = {
        .run = run,
        .backend = BACKEND_RUN_EMPTY,
    };
    run->files.fd = -1;
    uint64_t begin = monotonic_ms();
    loop.deadline_ms = begin + SETUP_LIMIT_MS;
    loop.told_at_ms = begin + PATIENCE_MS;
    const struct run_input_fds inputs = {run->stdin_fd, run->input_fds, run->input_count};
    if (!backend_start_run(run->mode, run->description, &inputs, &loop.backend, error))
        return false;
    for (size_t i = 0; i < run->input_count; i++)
        close_fd(TAKE_FD(run->input_fds[i]));
    run->files.fd = TAKE_FD(loop.backend.files_fd);
    if (run->spent) {
        run_description_clear_program(run->spent);
        vector_registers_wipe();
    }
    bool ended = false;
    int result = 0;
    while (result == 0 && !ended)
        result = poll_once(&loop, &ended, error);
    drain_rest(&loop);
    /* An order to end can overtake the word of the start: who has printed has run. A backend that
     * dies takes that word with it. */
    loop.outcome.started |=
        loop.lost_backend || (ended && loop.ordered_to_end && loop.produced + loop.framed > 0);
    loop.outcome.duration_ms = monotonic_ms() - begin;
    if (ended)
        file_stream_finish(&run->files, loop.ordered_to_end ? -1 : run->cancel_fd,
                           run_cause_is_order(loop.outcome.ended.cause));
    *ret = loop.outcome;
    return result == 0;
}

void run_clear(struct run *run)
{
    struct run_stream *const streams[] = {&run->output, &run->errors};
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        redaction_stream_clear(&streams[i]->redaction);
        output_capture_clear(&streams[i]->capture);
    }
    frame_reader_clear(&run->results);
}
