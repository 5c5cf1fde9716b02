/* SPDX-License-Identifier: Apache-2.0 */
/* The poll loop around one run. Runs in the gateway, on the thread inside tool_invoke(). */
#include "run/run.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/locked_memory.h"
#include "host/host.h"
#include "protocol/channel.h"
#include "run/backend_client.h"
#include "run/run_drain.h"

/* The backend keeps the program's time; these bound the backend itself. */
#define SETUP_LIMIT_MS 20000 /* from the hand-over, or the last word, to STARTED */
/* From the hand-over until who waits is told, once, that the start takes long. */
#define PATIENCE_MS 3000
struct loop {
    struct run_drain drain; /* the first */
    struct run *run;
    struct backend_run backend;
    uint64_t deadline_ms;
    uint64_t told_at_ms; /* when it is told that the start takes long; UINT64_MAX: not any more */
    bool ordered_to_end;
    bool lost_backend;
    struct call_service calls;
    struct run_outcome outcome;
};

enum loop_entry {
    LOOP_EVENTS,
    LOOP_STDOUT,
    LOOP_STDERR,
    LOOP_RESULTS,
    LOOP_FILES,
    LOOP_CANCEL,
    LOOP_ARRIVED, /* answers of the host's to calls of tools */
    LOOP_ANSWERS, /* of which the program can take more */
    LOOP_ENTRY_COUNT
};

/* From the program's deadline, or from an order to end, to ENDED. An engine takes its time to
 * remove a container. */
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
    loop->calls.held_ms = UINT64_MAX;
    const unsigned char byte = (unsigned char)order;
    (void)channel_send(loop->backend.events, &byte, sizeof(byte), NULL,
                       0); /* its death is seen on the socket */
    loop->deadline_ms = monotonic_ms() + grace_ms(loop->run);
}

static void end_for_output(struct run_drain *drain)
{
    order_end((struct loop *)drain, RUN_ORDER_OUTPUT_LIMIT);
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
    if (event.type == RUN_EVENT_ENDED)
        return take_end(loop, &event, ret_ended, error);
    return error_set(error, ERROR_BACKEND_FAILED, "the backend spoke of a session that is none");
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

static uint64_t next_wake_ms(const struct loop *loop)
{
    uint64_t due_ms = call_service_due_ms(&loop->calls);
    uint64_t wake_ms = loop->told_at_ms < loop->deadline_ms ? loop->told_at_ms : loop->deadline_ms;
    return due_ms < wake_ms ? due_ms : wake_ms;
}

static void serve_calls(struct loop *loop)
{
    if (loop->ordered_to_end)
        call_service_stop(&loop->calls);
    else if (!call_service_serve(&loop->calls, loop->backend.tools_fd))
        order_end(loop, RUN_ORDER_CANCEL);
    else if (loop->outcome.started)
        call_service_tell_waiting(&loop->calls, loop->backend.events,
                                  loop->run->description->tools_wait_ms, &loop->deadline_ms);
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
        [LOOP_ARRIVED] = {.fd = call_service_wake_fd(&loop->calls), .events = POLLIN},
        [LOOP_ANSWERS] = {.fd = call_service_writable_fd(&loop->calls, loop->backend.tools_fd),
                          .events = POLLOUT},
    };
    tell_patience(loop);
    int ready = poll(entries, LOOP_ENTRY_COUNT, deadline_poll_timeout(next_wake_ms(loop)));
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
        (void)run_drain_stream(&loop->drain, &loop->backend.stdout_fd, &loop->run->output);
    if (entries[LOOP_STDERR].revents != 0)
        (void)run_drain_stream(&loop->drain, &loop->backend.stderr_fd, &loop->run->errors);
    if (entries[LOOP_RESULTS].revents != 0)
        (void)run_drain_results(&loop->drain);
    if (entries[LOOP_FILES].revents != 0)
        file_stream_read(&loop->run->files);
    serve_calls(loop);
    if (entries[LOOP_EVENTS].revents != 0)
        return take_event(loop, ret_ended, error);
    return 0;
}

static void close_loop(struct loop *loop)
{
    backend_run_close(&loop->backend);
    close_fd(TAKE_FD(loop->run->files.fd));
    run_drain_clear(&loop->drain);
}

bool run_execute(struct run *run, struct run_outcome *ret, struct error *error)
{
    CLEANUP(close_loop)
    struct loop loop = {
        .drain = {.run = run, .too_much = end_for_output},
        .run = run,
        .backend = BACKEND_RUN_EMPTY,
        .calls = {.calls = run->calls},
    };
    loop.drain.backend = &loop.backend;
    run->files.fd = -1;
    uint64_t begin = monotonic_ms();
    loop.deadline_ms = begin + SETUP_LIMIT_MS;
    loop.told_at_ms = begin + PATIENCE_MS;
    const struct run_input_fds inputs = {run->stdin_fd, run->input_fds, run->input_count,
                                         run->endpoints_fd};
    if (!backend_start_run(run->mode, run->description, &inputs, &loop.backend, error))
        return false;
    for (size_t i = 0; i < run->input_count; i++)
        close_fd(TAKE_FD(run->input_fds[i]));
    close_fd(TAKE_FD(run->endpoints_fd));
    run->files.fd = TAKE_FD(loop.backend.files_fd);
    if (run->spent) {
        run_description_clear_program(run->spent);
        vector_registers_wipe();
    }
    bool ended = false;
    int result = 0;
    while (result == 0 && !ended)
        result = poll_once(&loop, &ended, error);
    run_drain_rest(&loop.drain);
    /* An order to end can overtake the word of the start: who has printed has run. A backend that
     * dies takes that word with it. */
    loop.outcome.started |= loop.lost_backend || (ended && loop.ordered_to_end &&
                                                  loop.drain.produced + loop.drain.framed > 0);
    loop.outcome.duration_ms = monotonic_ms() - begin;
    if (ended)
        file_stream_finish(&run->files, loop.ordered_to_end ? -1 : run->cancel_fd,
                           run_cause_is_order(loop.outcome.ended.cause));
    *ret = loop.outcome;
    return result == 0;
}

void run_stream_clear(struct run_stream *stream)
{
    redaction_stream_clear(&stream->redaction);
    output_capture_clear(&stream->capture);
}

void run_clear(struct run *run)
{
    run_stream_clear(&run->output);
    run_stream_clear(&run->errors);
    frame_reader_clear(&run->results);
}
