/* SPDX-License-Identifier: Apache-2.0 */
/* The loop around a cell: see session_run.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "run/session_run.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/locked_memory.h"
#include "protocol/session.h"
#include "run/cell_usage.h"
#include "run/run_drain.h"
#include "run/session_files.h"
#include "run/session_orders.h"

/* From the end of a cell's time: the backend interrupts it twice before it ends the session. */
#define INTERRUPTS_MS 2000
/* Behind an interruption, until the program hears that its calls of tools are cancelled: of the two
 * the interruption is to come first. */
#define CANCELLED_CALLS_MS 100
/* For the backend's word that an interpreter has ended. */
#define END_WORD_MS 1000
/* The pipes of the last cell are looked at from then on, and at the end. They end as the
 * interpreter takes the next cell, of which a short one is to wake nobody. */
#define LATE_AFTER_MS 3
/* What is taken of each of them at the end: as much as a pipe holds. */
#define LATE_READS_MOST 16

struct loop {
    struct run_drain drain; /* the first */
    struct session_run *session;
    struct run *run;
    struct backend_run cell; /* its pipes */
    struct run_stream *late;
    uint64_t late_ms; /* from when on the last cell's pipes are waited for */
    uint64_t deadline_ms;
    uint64_t mute_ms; /* when a cell is ended that can tell its end no more; UINT64_MAX: it can */
    struct call_service calls;
    enum run_cause interrupted_for; /* RUN_CAUSE_EXIT: it was not interrupted */
    enum session_state state;
    struct run_event end; /* where it is not kept */
    struct cell_usage usage;
};

enum loop_entry {
    LOOP_EVENTS,
    LOOP_STDOUT,
    LOOP_STDERR,
    LOOP_RESULTS,
    LOOP_LATE_STDOUT,
    LOOP_LATE_STDERR,
    LOOP_CANCEL,
    LOOP_ARRIVED, /* answers of the host's to calls of tools */
    LOOP_ANSWERS, /* of which the program can take more */
    LOOP_ENTRY_COUNT
};

static uint32_t at_most_32_bits(uint64_t milliseconds)
{
    return milliseconds > UINT32_MAX ? UINT32_MAX : (uint32_t)milliseconds;
}

/* The backend ends a cell for these, and tells of it. */
static bool is_time(uint32_t cause)
{
    return cause == RUN_CAUSE_WALL_TIMEOUT || cause == RUN_CAUSE_CPU_LIMIT;
}

/* From the end of a cell's time to the backend's last word on it. */
static uint64_t end_limit_ms(const struct loop *loop)
{
    uint64_t limit_ms = INTERRUPTS_MS + sandbox_mode_row(loop->session->mode)->grace_ms;
    return loop->run->description->session.checkpoints > 0 ? limit_ms + SESSION_RESTORE_LIMIT_MS
                                                           : limit_ms;
}

/* Only the first reason counts. Calls of tools are cancelled, and code that the interruption does
 * not end hears so. */
static void interrupt(struct loop *loop, enum run_cause cause)
{
    if (loop->interrupted_for != RUN_CAUSE_EXIT)
        return;
    loop->interrupted_for = cause;
    loop->calls.held_ms = monotonic_ms() + CANCELLED_CALLS_MS;
    call_service_stop(&loop->calls);
    if (!is_time(cause))
        session_run_order(loop->session, (struct session_order){.kind = SESSION_ORDER_INTERRUPT});
    loop->deadline_ms = monotonic_ms() + end_limit_ms(loop);
}

static void interrupt_for_output(struct run_drain *drain)
{
    interrupt((struct loop *)drain, RUN_CAUSE_OUTPUT_LIMIT);
}

/* From the end of a cell's results until it is taken for one that lives on without them. */
static uint64_t end_word_ms(const struct loop *loop)
{
    bool may_be_restored = loop->run->description->session.checkpoints > 0;
    return END_WORD_MS + (may_be_restored ? SESSION_RESTORE_LIMIT_MS : 0);
}

/* The word of a cell's end can come no more: it has closed the stream of its results, or written
 * what is no frame. The backend ends it, as one that does not heed its interruption. An interpreter
 * that has ended has closed it too, but of that the backend tells. */
static void interrupt_mute(struct loop *loop, const struct cell_word *word)
{
    bool is_closed = loop->cell.results_fd < 0;
    if (word->ended || !(is_closed || loop->run->results.refused))
        return;
    if (loop->mute_ms == UINT64_MAX)
        loop->mute_ms = monotonic_ms() + (is_closed ? end_word_ms(loop) : 0);
    if (loop->mute_ms <= monotonic_ms())
        interrupt(loop, RUN_CAUSE_SIGNAL);
}

static void keep_late(void *user, const void *bytes, size_t length)
{
    output_capture_add(&((struct run_stream *)user)->capture, bytes, length);
}

/* What a cell has left behind goes on printing to its own pipes. true: there was something. */
static bool take_late(int *fd, struct run_stream *late)
{
    unsigned char bytes[4096];
    ssize_t length = read(*fd, bytes, sizeof(bytes));
    if (length > 0)
        redaction_feed(&late->redaction, bytes, (size_t)length, keep_late, late);
    else if (length == 0 || (errno != EAGAIN && errno != EINTR))
        close_fd(TAKE_FD(*fd));
    if (length > 0)
        explicit_bzero(bytes, (size_t)length); /* not looked through for secrets yet */
    return length > 0;
}

static void end_late(struct loop *loop)
{
    int *const fds[] = {&loop->session->backend.stdout_fd, &loop->session->backend.stderr_fd};
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        for (size_t reads = 0; reads < LATE_READS_MOST && *fds[i] >= 0; reads++)
            if (!take_late(fds[i], &loop->late[i]))
                break;
        redaction_flush(&loop->late[i].redaction, keep_late, &loop->late[i]);
    }
}

static bool take_event(struct loop *loop, struct error *error)
{
    struct run_event event;
    bool is_there;
    if (!session_run_receive(loop->session->backend.events, &is_there, &event))
        return session_run_fail_lost(loop->session, error);
    if (is_there && event.type == RUN_EVENT_INTERRUPTED)
        interrupt(loop,
                  is_time(event.cause) ? (enum run_cause)event.cause : RUN_CAUSE_WALL_TIMEOUT);
    if (is_there && event.type == RUN_EVENT_MEASURED)
        cell_usage_take(&loop->usage, &event.usage);
    if (is_there && (event.type == RUN_EVENT_ENDED || event.type == RUN_EVENT_RESTORED)) {
        loop->state = event.type == RUN_EVENT_ENDED ? SESSION_GONE : SESSION_RESTORED;
        loop->end = event;
    }
    return true;
}

static uint64_t next_wake_ms(const struct loop *loop)
{
    uint64_t due_ms = call_service_due_ms(&loop->calls);
    bool is_due = loop->interrupted_for == RUN_CAUSE_EXIT && loop->mute_ms < loop->deadline_ms;
    uint64_t wake_ms = is_due ? loop->mute_ms : loop->deadline_ms;
    return due_ms < wake_ms ? due_ms : wake_ms;
}

static bool has_late(const struct backend_run *last)
{
    return last->stdout_fd >= 0 || last->stderr_fd >= 0;
}

/* One that was interrupted has had its time. */
static void serve_calls(struct loop *loop)
{
    if (!call_service_serve(&loop->calls, loop->cell.tools_fd))
        interrupt(loop, RUN_CAUSE_CANCELLED);
    if (loop->interrupted_for == RUN_CAUSE_EXIT)
        call_service_tell_waiting(&loop->calls, loop->session->backend.events,
                                  loop->run->description->tools_wait_ms, &loop->deadline_ms);
}

/* The host works for nobody from now on. What the cell has left behind hears so: a child that the
 * gateway has forked may have a copy of the socket. */
static void end_calls(struct loop *loop)
{
    call_service_stop(&loop->calls);
    if (loop->cell.tools_fd >= 0)
        (void)shutdown(loop->cell.tools_fd, SHUT_RDWR);
    close_fd(TAKE_FD(loop->cell.tools_fd));
}

/* Mostly a value comes ahead of the cell's end. The interpreter has the cell by then, so the pipes
 * of the last one have ended; and while it goes on, nobody waits for us. */
static void take_results(struct loop *loop)
{
    struct backend_run *last = &loop->session->backend;
    (void)run_drain_results(&loop->drain);
    if (last->stdout_fd >= 0)
        (void)take_late(&last->stdout_fd, &loop->late[0]);
    if (last->stderr_fd >= 0)
        (void)take_late(&last->stderr_fd, &loop->late[1]);
}

static bool poll_once(struct loop *loop, struct error *error)
{
    struct backend_run *last = &loop->session->backend;
    bool with_late = loop->late_ms <= monotonic_ms();
    uint64_t wake_ms = next_wake_ms(loop);
    struct pollfd entries[LOOP_ENTRY_COUNT] = {
        [LOOP_EVENTS] = {.fd = last->events, .events = POLLIN},
        [LOOP_STDOUT] = {.fd = loop->cell.stdout_fd, .events = POLLIN},
        [LOOP_STDERR] = {.fd = loop->cell.stderr_fd, .events = POLLIN},
        [LOOP_RESULTS] = {.fd = loop->cell.results_fd, .events = POLLIN},
        [LOOP_LATE_STDOUT] = {.fd = with_late ? last->stdout_fd : -1, .events = POLLIN},
        [LOOP_LATE_STDERR] = {.fd = with_late ? last->stderr_fd : -1, .events = POLLIN},
        [LOOP_CANCEL] = {.fd = loop->interrupted_for == RUN_CAUSE_EXIT ? loop->run->cancel_fd : -1,
                         .events = POLLIN},
        [LOOP_ARRIVED] = {.fd = call_service_wake_fd(&loop->calls), .events = POLLIN},
        [LOOP_ANSWERS] = {.fd = call_service_writable_fd(&loop->calls, loop->cell.tools_fd),
                          .events = POLLOUT},
    };
    if (!with_late && has_late(last) && loop->late_ms < wake_ms)
        wake_ms = loop->late_ms;
    int wait_ms = cell_usage_wait_ms(&loop->usage, deadline_poll_timeout(wake_ms));
    int ready = poll(entries, LOOP_ENTRY_COUNT, wait_ms);
    if (ready < 0 && errno == EINTR)
        return true;
    if (ready < 0) {
        error_set_errno(error, ERROR_BACKEND_FAILED, errno, "waiting for the cell failed");
        return false;
    }
    cell_usage_look(&loop->usage);
    if (entries[LOOP_CANCEL].revents != 0)
        interrupt(loop, RUN_CAUSE_CANCELLED);
    if (entries[LOOP_LATE_STDOUT].revents != 0)
        (void)take_late(&last->stdout_fd, &loop->late[0]);
    if (entries[LOOP_LATE_STDERR].revents != 0)
        (void)take_late(&last->stderr_fd, &loop->late[1]);
    if (entries[LOOP_STDOUT].revents != 0)
        (void)run_drain_stream(&loop->drain, &loop->cell.stdout_fd, &loop->run->output);
    if (entries[LOOP_STDERR].revents != 0)
        (void)run_drain_stream(&loop->drain, &loop->cell.stderr_fd, &loop->run->errors);
    if (entries[LOOP_RESULTS].revents != 0)
        take_results(loop);
    serve_calls(loop);
    if (entries[LOOP_EVENTS].revents != 0)
        return take_event(loop, error);
    if (monotonic_ms() > loop->deadline_ms) {
        error_set(error, ERROR_BACKEND_FAILED, "the backend did not end the cell in time");
        return false;
    }
    return true;
}

/* The cell has not ended, or its backend is still to say what it has spent. */
static bool is_open(struct loop *loop, const struct cell_word *word)
{
    if (word->ended && cell_usage_asks(&loop->usage))
        session_run_order(loop->session, (struct session_order){.kind = SESSION_ORDER_MEASURE});
    return !word->ended || cell_usage_awaits(&loop->usage);
}

/* Until the cell has ended, or its session. The events are read once more behind the cell's end:
 * that of its interruption was sent ahead of that end, and poll() may have seen only the end. */
static bool run_loop(struct loop *loop, const struct cell_word *word, struct error *error)
{
    bool goes_on = true;
    while (goes_on && loop->state == SESSION_KEPT && is_open(loop, word)) {
        interrupt_mute(loop, word);
        goes_on = poll_once(loop, error);
    }
    if (goes_on && loop->state == SESSION_KEPT)
        goes_on = take_event(loop, error);
    run_drain_rest(&loop->drain);
    close_fd(TAKE_FD(loop->cell.results_fd)); /* nothing behind the end may hold up the files */
    end_calls(loop);
    end_late(loop);
    return goes_on || word->ended;
}

/* The end of a cell of a session that lives on. */
static struct run_event end_of_cell(const struct loop *loop, const struct cell_word *word,
                                    uint64_t begin_ms)
{
    struct run_event end = loop->session->started;
    end.type = RUN_EVENT_ENDED;
    end.cause = loop->interrupted_for;
    end.exit_code = loop->interrupted_for == RUN_CAUSE_EXIT ? word->exit_code : -1;
    end.usage = cell_usage_end(&loop->usage, (monotonic_ms() - begin_ms) * 1000);
    return end;
}

/* The end of its interpreter, whose reason is ours where we have ended it. */
static struct run_event end_of_interpreter(const struct loop *loop)
{
    struct run_event end = loop->end;
    end.type = RUN_EVENT_ENDED;
    end.origin = loop->session->started.origin;
    if (loop->interrupted_for != RUN_CAUSE_EXIT && is_time(end.cause))
        end.cause = loop->interrupted_for;
    return end;
}

void session_run_close_late(struct session_run *session)
{
    close_fd(TAKE_FD(session->backend.stdout_fd));
    close_fd(TAKE_FD(session->backend.stderr_fd));
}

static void close_loop(struct loop *loop)
{
    backend_run_close(&loop->cell);
    run_drain_clear(&loop->drain);
}

bool session_run_cell(struct session_run *session, uint32_t number, struct run *run,
                      const struct cell_word *word, struct run_stream late[2],
                      struct run_outcome *ret, enum session_state *ret_state, struct error *error)
{
    CLEANUP(close_loop)
    struct loop loop = {
        .drain = {.run = run, .too_much = interrupt_for_output},
        .session = session,
        .run = run,
        .cell = BACKEND_RUN_EMPTY,
        .late = late,
        .mute_ms = UINT64_MAX,
        .calls = {.calls = run->calls},
        .interrupted_for = RUN_CAUSE_EXIT,
    };
    uint64_t wall_ms = run->description->limits.wall_ms;
    uint64_t begin_ms = monotonic_ms();
    loop.drain.backend = &loop.cell;
    loop.late_ms = begin_ms + LATE_AFTER_MS;
    loop.deadline_ms = begin_ms + wall_ms + end_limit_ms(&loop);
    *ret = (struct run_outcome){.ended = session->started};
    *ret_state = SESSION_GONE;
    cell_usage_begin(&loop.usage, session->started.first_pid,
                     sandbox_mode_row(session->mode)->tells_usage_ms);
    session_run_order(
        session,
        (struct session_order){.kind = SESSION_ORDER_CELL,
                               .wall_ms = at_most_32_bits(wall_ms),
                               .cpu_ms = at_most_32_bits(run->description->limits.cpu_ms),
                               .program = number,
                               .tools_wait_ms = at_most_32_bits(run->description->tools_wait_ms)});
    const struct run_input_fds inputs = {run->stdin_fd, run->input_fds, run->input_count, -1};
    struct run_description description = *run->description;
    description.outputs = (struct run_outputs){.files = 0}; /* its interpreter collects nothing */
    CLEANUP_CLOSE int wanted = -1;
    bool sent = session_files_describe(run->description, &wanted, error) &&
                backend_send_cell(session->cells[number], &description, &inputs, &loop.cell, error);
    for (size_t i = 0; i < run->input_count; i++)
        close_fd(TAKE_FD(run->input_fds[i]));
    run_description_clear_program(run->spent);
    vector_registers_wipe();
    bool ended = sent && run_loop(&loop, word, error);
    ret->started = sent;
    ret->duration_ms = monotonic_ms() - begin_ms;
    if (ended)
        *ret_state = loop.state;
    if (ended && loop.state == SESSION_KEPT)
        ret->ended = end_of_cell(&loop, word, begin_ms);
    else if (ended)
        ret->ended = end_of_interpreter(&loop);
    if (*ret_state != SESSION_GONE) {
        session->started.origin = SANDBOX_KEPT;
        if (run->description->outputs.files > 0 && loop.state == SESSION_KEPT)
            session_files_collect(session, run, wanted, word, loop.interrupted_for);
        else
            session_run_order(session, (struct session_order){.kind = SESSION_ORDER_IDLE});
        session_run_close_late(session);
        if (loop.state == SESSION_KEPT) { /* of a cell that was undone nothing is left to print */
            session->backend.stdout_fd = TAKE_FD(loop.cell.stdout_fd);
            session->backend.stderr_fd = TAKE_FD(loop.cell.stderr_fd);
        }
        return true;
    }
    session_run_close(session);
    return ended;
}
