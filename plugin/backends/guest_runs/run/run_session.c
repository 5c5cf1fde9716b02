/* SPDX-License-Identifier: Apache-2.0 */
/* The orders of the plugin to a run, and the additional work of a session: it takes its cells, and
 * keeps their times (run_private.h). Runs in a backend of containers. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/run_input.h"
#include "backends/guest_runs/container/run_message.h"
#include "backends/guest_runs/run/run_private.h"
#include "base/cleanup.h"
#include "guest/messages/guest_protocol.h"
#include "protocol/session_cell.h"

/* For an interpreter to start. */
#define ADD_LIMIT_MS 15000

bool run_session_take(struct run *run, int fd)
{
    run->job.session = true;
    int cells = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (cells < 0)
        return false;
    run->cells[run->cell_count++] = cells;
    return run_message_has_runner(&run->description);
}

void run_session_started(struct run *run)
{
    run->deadline_us = session_clock_begin(&run->clock, &run->description.session, run->started_us);
}

static bool is_live(const struct run *run)
{
    return run->job.session && run->job.started && run->container && !run->killed &&
           !run->ordered && !run->answered && run->event.failure == RUN_FAILURE_NONE;
}

void run_tell_guest(struct run *run, char order)
{
    if (!container_send_order(run->container, order))
        run_order_end(run, RUN_CAUSE_CANCELLED);
}

/* Takes the write end of the pipe. If nothing is collected, the gateway reads the end of the pipe.
 */
static void begin_collection(struct run *run, bool haste, int fds[SESSION_COLLECT_FDS])
{
    CLEANUP(run_description_clear) struct run_description wanted = {.file_count = 0};
    if (run->job.sends || !run_read_description(fds[0], &wanted) ||
        !run_message_make_collection(&wanted, haste, &run->job.message))
        return;
    close_fd(run->job.pipes[JOB_FILES]);
    run->job.pipes[JOB_FILES] = TAKE_FD(fds[1]);
    (void)fcntl(run->job.pipes[JOB_FILES], F_SETFL, O_NONBLOCK);
    container_send_message(run->container);
}

/* Without cells of its own it would be of no use. */
static bool make_program(struct run *run, const int fds[SESSION_PROGRAM_FDS])
{
    CLEANUP(run_description_clear) struct run_description description = {.file_count = 0};
    return !run->job.sends && run->cell_count < SESSION_PROGRAMS_MOST &&
           run_read_description(fds[0], &description) && run_message_is_session(&description) &&
           run_message_has_runner(&description) &&
           run_message_make_program(&description, &run->job.message);
}

static void send_added(const struct run *run, enum run_failure failure, const char *message)
{
    struct run_event event = {.type = RUN_EVENT_PROGRAM, .failure = failure, .exit_code = -1};
    (void)snprintf(event.message, sizeof(event.message), "%s", message);
    run_event_send(run->socket, &event);
}

/* The session is idle meanwhile, but for its deadline. */
static void begin_program(struct run *run, int fds[SESSION_PROGRAM_FDS])
{
    const struct session_order start = {.kind = SESSION_ORDER_CELL, .wall_ms = ADD_LIMIT_MS};
    bool wakes;
    if (!make_program(run, fds)) {
        send_added(run, RUN_FAILURE_INTERNAL, "hand over the interpreter");
        return;
    }
    run->deadline_us = session_clock_order(&run->clock, &start, monotonic_us(), &wakes);
    run->added_cells = TAKE_FD(fds[RUN_FD_STDIN - RUN_FD_FIRST_INSIDE]);
    run->job.adds = true;
    container_send_message(run->container);
}

void run_container_added(struct run *run, enum run_failure failure, const char *message)
{
    const struct session_order idle = {.kind = SESSION_ORDER_IDLE};
    CLEANUP_CLOSE int cells = TAKE_FD(run->added_cells);
    bool wakes;
    if (!is_live(run))
        return;
    run->deadline_us = session_clock_order(&run->clock, &idle, monotonic_us(), &wakes);
    if (failure == RUN_FAILURE_NONE) {
        run->cells[run->cell_count++] = TAKE_FD(cells);
        run->description.session.checkpoints = 0; /* nothing can be undone any more */
    }
    send_added(run, failure, message);
}

static void follow(struct run *run, const struct session_order *order, int fds[SESSION_PROGRAM_FDS],
                   size_t fd_count)
{
    bool wakes; /* its guest sends all on with the cell */
    bool is_busy = run->job.adds || run->is_restoring || run->is_restored || run->is_parking;
    if (!is_live(run) || is_busy || run_branch_order(run, order))
        return;
    if (order->kind == SESSION_ORDER_UNDO) {
        run_undo_cells(run, RUN_CAUSE_EXIT, order->cells);
        return;
    }
    if (order->kind == SESSION_ORDER_MEASURE) {
        run_cell_tell_usage(run);
        return;
    }
    if (order->kind == SESSION_ORDER_PROGRAM) {
        if (!run->clock.in_cell && fd_count == SESSION_PROGRAM_FDS)
            begin_program(run, fds);
        return;
    }
    uint64_t deadline_us = session_clock_order(&run->clock, order, monotonic_us(), &wakes);
    if (deadline_us > 0)
        run->deadline_us = deadline_us;
    if (order->kind == SESSION_ORDER_CELL)
        run_cell_begun(run, order->tools_wait_ms);
    else /* also where it is interrupted, however much of its time does not count */
        run_wait_forget(run);
    if (order->kind == SESSION_ORDER_COLLECT && fd_count == SESSION_COLLECT_FDS)
        begin_collection(run, order->haste != 0, fds);
}

static void take_order(struct run *run, char order)
{
    if (order == RUN_ORDER_WAITS || order == RUN_ORDER_GOES_ON)
        run_wait_order(run, order == RUN_ORDER_WAITS);
    else if (!run->ordered)
        run_order_end(run, order == RUN_ORDER_OUTPUT_LIMIT ? RUN_CAUSE_OUTPUT_LIMIT
                                                           : RUN_CAUSE_CANCELLED);
}

void run_take_order(struct run *run)
{
    union {
        char order;
        struct session_order session;
    } message;
    int fds[SESSION_PROGRAM_FDS];
    size_t count = 0;
    ssize_t length =
        channel_receive_fds_now(run->socket, &message, sizeof(message), fds, COUNT_OF(fds), &count);
    if (length < 0 && errno == EAGAIN)
        return;
    if (length == sizeof(message.session))
        follow(run, &message.session, fds, count);
    else if (length == sizeof(message.order))
        take_order(run, message.order);
    else
        close_fd(TAKE_FD(run->socket));
    for (size_t i = 0; i < count; i++)
        close_fd(fds[i]);
    if (run->socket < 0)
        run_kill(run, RUN_CAUSE_CANCELLED);
}

size_t run_session_places(const struct run *run)
{
    bool wants = is_live(run) && !run->job.sends && run->job.next[JOB_STDOUT] < 0;
    return wants ? run->cell_count : 0;
}

/* Those that the cell brings with it, in the order of enum run_fd. */
static bool make_cell(struct run *run, size_t program, const struct session_cell *given)
{
    size_t length = 0;
    run_description_clear(&run->cell);
    run->cell = (struct run_description){.file_count = 0};
    if (!(given->is_brief
              ? run_description_decode(given->description, given->length, &run->cell)
              : run_read_description(session_cell_fd(given, RUN_FD_DESCRIPTION), &run->cell)))
        return false;
    CLEANUP_FREE unsigned char *input =
        run_read_file(session_cell_fd(given, RUN_FD_STDIN), RUN_DESCRIPTION_LIMIT, &length);
    bool made = run_message_make_cell(&run->cell, program, input, length, &run->job.message);
    if (input)
        explicit_bzero(input, length);
    return made;
}

/* The guest gets nothing more of the cell before. */
static bool take_answers(struct run *run, const struct session_cell *given)
{
    if (run->cell.tools)
        return socket_sender_open(&run->job.senders[JOB_ANSWERS], GUEST_ORDER_ANSWERS,
                                  session_cell_fd(given, RUN_FD_TOOLS));
    socket_sender_end(&run->job.senders[JOB_ANSWERS]);
    return true;
}

static void take_pipes(struct run *run, struct session_cell *given)
{
    static const enum run_fd numbers[] = {
        [JOB_STDOUT] = RUN_FD_STDOUT, [JOB_STDERR] = RUN_FD_STDERR, [JOB_RESULTS] = RUN_FD_RESULTS};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        run->job.next[i] = TAKE_FD(given->fds[numbers[i] - RUN_FD_FIRST_INSIDE]);
        (void)fcntl(run->job.next[i], F_SETFL, O_NONBLOCK);
    }
    run->job.inputs = TAKE_FD(given->fds[RUN_FD_INPUTS - RUN_FD_FIRST_INSIDE]);
}

/* false: none is there. The end of any program's cells is that of the session. */
static bool take_cell_of(struct run *run, size_t program)
{
    CLEANUP(session_cell_clear) struct session_cell given;
    if (!session_cell_receive(run->cells[program], false, &given)) {
        if (errno == EAGAIN)
            return false;
    } else if (given.kind == SESSION_PARK) {
        return true; /* its guest asks the interpreter, by the order */
    } else if (make_cell(run, program, &given) && take_answers(run, &given)) {
        take_pipes(run, &given);
        container_send_message(run->container);
        return true;
    }
    run_order_end(run, RUN_CAUSE_CANCELLED);
    return true;
}

void run_session_take_cell(struct run *run)
{
    size_t program = 0;
    while (program < run_session_places(run) && !take_cell_of(run, program))
        program++;
}

/* An idle session that expires ends as by an order: its cause is that of a cancellation. */
void run_session_expire(struct run *run)
{
    const struct run_event event = {
        .type = RUN_EVENT_INTERRUPTED, .cause = session_clock_cause(&run->clock), .exit_code = -1};
    if (run->job.adds || run->is_parking) { /* its guest has not answered */
        run_order_end(run, RUN_CAUSE_WALL_TIMEOUT);
        return;
    }
    if (run->is_restoring || run->is_restored) {
        run_undo_expire(run);
        return;
    }
    if (run_wait_goes_on(run))
        return;
    switch (session_clock_due(&run->clock, monotonic_us(), &run->deadline_us)) {
    case SESSION_DUE_INTERRUPT:
        if (run->clock.interrupts == 1) /* ahead of the end that it brings about */
            run_event_send(run->socket, &event);
        run_tell_guest(run, GUEST_ORDER_INTERRUPT);
        break;
    case SESSION_DUE_TIMEOUT:
        if (run->description.session.checkpoints > 0)
            run_undo_cells(run, session_clock_cause(&run->clock), 0);
        else
            run_order_end(run, session_clock_cause(&run->clock));
        break;
    case SESSION_DUE_STOP:
        run_tell_guest(run, GUEST_ORDER_STOP);
        break;
    case SESSION_DUE_MEASURE:
        run_measure_cell(run);
        break;
    case SESSION_DUE_EXPIRY:
        run_order_end(run, RUN_CAUSE_CANCELLED);
        break;
    }
}

void run_session_clear(struct run *run)
{
    for (size_t i = 0; i < run->cell_count; i++)
        close_fd(run->cells[i]);
    close_fd(run->added_cells);
    for (size_t i = 0; i < JOB_PIPES; i++)
        close_fd(run->job.next[i]);
    run_description_clear(&run->cell);
}
