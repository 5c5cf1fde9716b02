/* SPDX-License-Identifier: Apache-2.0 */
/* What a run that is a session does beside others: the orders and times of its cells, and the way
 * back to before one (run_state.h). Runs in the supervisor. */
#include "backends/process/supervisor/run_state.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "backends/process/sandbox/session_program.h"
#include "base/cleanup.h"
#include "base/process_stat.h"
#include "protocol/channel.h"

/* For an interpreter to start: more than its init gives it. */
#define ADD_LIMIT_MS 15000
/* For an interpreter to make a copy of itself and of its files. */
#define PARK_LIMIT_MS 10000
/* For an init to kill its tree, and for a checkpoint to put the files back. */
#define RESTORE_LIMIT_US (UINT64_C(10) * 1000000)

/* Its death is seen on the socket. */
static void tell_init(const struct run *run, enum sandbox_order_kind kind)
{
    const struct sandbox_order order = {
        .kind = kind, .program = run->program, .checkpoints = (uint32_t)run->session.checkpoints};
    (void)channel_send(run->process->report, &order, sizeof(order), NULL, 0);
}

/* Where a cell begins and ends matters to them alone, and an init that wakes takes a processor from
 * the cell. */
static void tell_checkpoints(const struct run *run, enum sandbox_order_kind kind)
{
    if (run->has_checkpoints)
        tell_init(run, kind);
}

/* order: UNDO or WAKE. */
static void begin_restore(struct run *run, enum run_cause cause, const struct sandbox_order *order)
{
    run->restoring = true;
    run->restored_for = cause;
    run->deadline_us = monotonic_us() + RESTORE_LIMIT_US;
    (void)channel_send(run->process->report, order, sizeof(*order), NULL, 0);
}

static void pass_collection_on(const struct run *run, const struct session_order *order,
                               const int fds[SESSION_COLLECT_FDS])
{
    const struct sandbox_order passed = {.kind = SANDBOX_COLLECT_CELL, .haste = order->haste};
    (void)channel_send(run->process->report, &passed, sizeof(passed), fds, SESSION_COLLECT_FDS);
}

static void send_answer(const struct run *run, enum run_event_type type,
                        const struct report *report)
{
    struct run_event event = {.type = type,
                              .failure = report->failure,
                              .failed_layer = report->failed_layer,
                              .error_number = report->error_number,
                              .exit_code = -1};
    (void)snprintf(event.message, sizeof(event.message), "%s", report->message);
    run_event_send(run->socket, &event);
}

/* The run's descriptors go on as they came: the description is read by the new program alone. */
static void pass_program_on(struct run *run, const struct session_order *order,
                            const int fds[SESSION_PROGRAM_FDS])
{
    const struct sandbox_order passed = {
        .kind = SANDBOX_PROGRAM,
        .runner = order->runner,
        .cgroup_has_memory = run->process->cgroup.has_memory,
        .cgroup_has_pids = run->process->cgroup.has_pids,
    };
    CLEANUP_CLOSE int files = session_program_files(order->runner, order->tool_command);
    int given[SESSION_PROGRAM_FDS + 1];
    for (size_t i = 0; i < SESSION_PROGRAM_FDS; i++)
        given[i] = fds[i];
    given[SESSION_PROGRAM_FDS] = files;
    if (files >= 0 &&
        channel_send(run->process->report, &passed, sizeof(passed), given, COUNT_OF(given)) == 0) {
        run->awaits_init = true;
        return;
    }
    struct report report = {.failure = RUN_FAILURE_INTERNAL, .error_number = errno};
    (void)snprintf(report.message, sizeof(report.message), "hand over the interpreter");
    run_session_added(run, &report);
}

/* It is idle meanwhile, but for its deadline. */
static void go_on_for(struct run *run, uint32_t limit_ms)
{
    const struct session_order start = {.kind = SESSION_ORDER_CELL, .wall_ms = limit_ms};
    bool wakes;
    run->deadline_us = session_clock_order(&run->clock, &start, monotonic_us(), &wakes);
    if (wakes)
        tell_init(run, SANDBOX_CONTINUE);
}

static void park(struct run *run, uint32_t branch)
{
    const struct sandbox_order order = {.kind = SANDBOX_PARK, .branch = branch};
    go_on_for(run, PARK_LIMIT_MS);
    run->awaits_init = true;
    (void)channel_send(run->process->report, &order, sizeof(order), NULL, 0);
}

/* The init has done what it was told. false: the run ends. */
static bool become_idle(struct run *run)
{
    const struct session_order idle = {.kind = SESSION_ORDER_IDLE};
    bool wakes;
    if (run->evidence.killed)
        return false;
    run->awaits_init = false;
    run->deadline_us = session_clock_order(&run->clock, &idle, monotonic_us(), &wakes);
    return true;
}

void run_session_parked(struct run *run, const struct report *report)
{
    if (become_idle(run))
        send_answer(run, RUN_EVENT_PARKED, report);
}

void run_session_added(struct run *run, const struct report *report)
{
    if (!become_idle(run))
        return;
    if (report->failure == RUN_FAILURE_NONE)
        run->session.checkpoints = 0; /* nothing of the session can be undone any more */
    send_answer(run, RUN_EVENT_PROGRAM, report);
}

bool run_processor_time(const struct run *run, uint64_t *ret_us)
{
    struct tree_time used;
    if (cgroup_processor_time(&run->process->cgroup, ret_us))
        return true;
    if (!tree_time_read(run->process->pid, &used))
        return false;
    *ret_us = used.user_us + used.system_us;
    return true;
}

static uint64_t processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (uint64_t)count : 1;
}

static void measure_cell(struct run *run)
{
    struct session_measure measure = {.processors = processors()};
    uint64_t begin_us = monotonic_us();
    measure.is_known = run_processor_time(run, &measure.total_us);
    uint64_t end_us = monotonic_us();
    measure.cost_us = end_us - begin_us;
    run->deadline_us = run_wait_pause(run, session_clock_measured(&run->clock, &measure, end_us));
}

/* false: it is none of those between two cells. */
static bool follow_between(struct run *run, const struct session_order *order,
                           const int fds[SESSION_PROGRAM_FDS], size_t fd_count)
{
    const struct sandbox_order passed = {
        .kind = order->kind == SESSION_ORDER_UNDO   ? SANDBOX_UNDO
                : order->kind == SESSION_ORDER_WAKE ? SANDBOX_WAKE
                                                    : SANDBOX_DROP,
        .cells = order->cells,
        .branch = order->branch,
    };
    switch ((enum session_order_kind)order->kind) {
    case SESSION_ORDER_PROGRAM:
        if (!run->clock.in_cell && fd_count == SESSION_PROGRAM_FDS) {
            go_on_for(run, ADD_LIMIT_MS);
            pass_program_on(run, order, fds);
        }
        return true;
    case SESSION_ORDER_UNDO:
    case SESSION_ORDER_WAKE:
        begin_restore(run, RUN_CAUSE_EXIT, &passed);
        return true;
    case SESSION_ORDER_PARK:
        if (!run->clock.in_cell)
            park(run, order->branch);
        return true;
    case SESSION_ORDER_DROP:
        (void)channel_send(run->process->report, &passed, sizeof(passed), NULL, 0);
        return true;
    case SESSION_ORDER_MEASURE: /* the plugin can look itself */
        return true;
    case SESSION_ORDER_CELL:
    case SESSION_ORDER_IDLE:
    case SESSION_ORDER_INTERRUPT:
    case SESSION_ORDER_COLLECT:
        break;
    }
    return false;
}

void run_session_follow(struct run *run, const struct session_order *order,
                        const int fds[SESSION_PROGRAM_FDS], size_t fd_count)
{
    bool is_live = run->started && run->session.idle_ms > 0 && !run->evidence.killed;
    bool wakes;
    if (!is_live || run->restoring || run->awaits_init || follow_between(run, order, fds, fd_count))
        return;
    uint64_t deadline_us = session_clock_order(&run->clock, order, monotonic_us(), &wakes);
    if (order->kind == SESSION_ORDER_INTERRUPT) /* however much of its time does not count */
        run->waiting.waits = false;
    if (deadline_us > 0)
        run->deadline_us = deadline_us;
    if (wakes)
        tell_init(run, SANDBOX_CONTINUE);
    if (order->kind == SESSION_ORDER_CELL) {
        run->program = order->program;
        run_wait_begin_cell(run, order->tools_wait_ms);
        tell_checkpoints(run, SANDBOX_CELL);
    } else if (order->kind == SESSION_ORDER_COLLECT && fd_count == SESSION_COLLECT_FDS)
        pass_collection_on(run, order, fds);
    else if (order->kind == SESSION_ORDER_IDLE || order->kind == SESSION_ORDER_COLLECT)
        tell_checkpoints(run, SANDBOX_IDLE);
}

/* One that is idle ends without a word of its own: its cause is the order's that nobody has given.
 */
void run_session_expire(struct run *run)
{
    const struct run_event event = {
        .type = RUN_EVENT_INTERRUPTED, .cause = session_clock_cause(&run->clock), .exit_code = -1};
    const struct sandbox_order last = {.kind = SANDBOX_UNDO, .cells = 1};
    if (run->restoring) { /* its init has not answered */
        run_order_end(run, run->restored_for == RUN_CAUSE_EXIT ? RUN_CAUSE_CANCELLED
                                                               : run->restored_for);
        return;
    }
    if (run->awaits_init) { /* nor here */
        run_order_end(run, RUN_CAUSE_WALL_TIMEOUT);
        return;
    }
    if (run_wait_goes_on(run))
        return;
    switch (session_clock_due(&run->clock, monotonic_us(), &run->deadline_us)) {
    case SESSION_DUE_MEASURE:
        measure_cell(run);
        break;
    case SESSION_DUE_INTERRUPT:
        if (run->clock.interrupts == 1) /* ahead of the end that it brings about */
            run_event_send(run->socket, &event);
        tell_init(run, SANDBOX_INTERRUPT);
        break;
    case SESSION_DUE_TIMEOUT:
        if (run->session.checkpoints > 0)
            begin_restore(run, session_clock_cause(&run->clock), &last);
        else
            run_order_end(run, session_clock_cause(&run->clock));
        break;
    case SESSION_DUE_STOP:
        tell_init(run, SANDBOX_STOP);
        break;
    case SESSION_DUE_EXPIRY:
        run_order_end(run, RUN_CAUSE_CANCELLED);
        break;
    }
}

/* How the interpreter of the cell has ended, as a run would have. */
static struct run_event describe_restored(struct run *run, const struct report *report)
{
    struct run_evidence *evidence = &run->evidence;
    const struct tree_usage none = {
        .user_us = RUN_USAGE_UNKNOWN,
        .system_us = RUN_USAGE_UNKNOWN,
        .peak_memory_bytes = RUN_USAGE_UNKNOWN,
    };
    run_read_usage(run, &none);
    struct run_evidence of_cell = *evidence;
    of_cell.program_ended = run->restored_for == RUN_CAUSE_EXIT;
    of_cell.wait_status = report->wait_status;
    of_cell.scratch_full = report->scratch_full != 0;
    of_cell.process_memory_bytes = 0; /* not known of a process that others have waited for */
    of_cell.killed = !of_cell.program_ended;
    of_cell.kill_cause = run->restored_for;
    struct run_event event = run->event;
    run->event.usage.wall_us = 0;
    cause_decide(&of_cell, &event);
    run->before.memory_kills += evidence->memory_kills;
    run->before.process_refusals += evidence->process_refusals;
    return event;
}

void run_session_restored(struct run *run, const struct report *report)
{
    const struct session_order idle = {.kind = SESSION_ORDER_IDLE};
    bool wakes;
    bool has_failed = report->failure != RUN_FAILURE_NONE;
    if (run->evidence.killed)
        return;
    run->restoring = false;
    if (run->restored_for == RUN_CAUSE_EXIT && report->exceeded < RUN_CAUSE_COUNT)
        run->restored_for = (enum run_cause)report->exceeded;
    if (has_failed && run->restored_for != RUN_CAUSE_EXIT) { /* the cell has had its time */
        run_order_end(run, run->restored_for);
        return;
    }
    struct run_event event = describe_restored(run, report);
    run->restored_for = RUN_CAUSE_EXIT;
    event.type = RUN_EVENT_RESTORED;
    event.failure = report->failure;
    run->deadline_us = session_clock_order(&run->clock, &idle, monotonic_us(), &wakes);
    run_event_send(run->socket, &event);
}
