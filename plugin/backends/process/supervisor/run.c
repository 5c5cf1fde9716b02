/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the life of one run: see run.h. Runs in the supervisor. */
#include "backends/process/supervisor/run_state.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/process/supervisor/filter/seccomp_filter.h"
#include "backends/process/unconfined/unconfined.h"
#include "base/cleanup.h"

/* For a subreaper to kill what it keeps; a program that has stopped it must not gain more. */
#define SUBREAPER_LIMIT_US (UINT64_C(1) * 1000000)
/* For an init to kill its tree and say so, once it was ordered to. */
#define ORDER_LIMIT_US (UINT64_C(2) * 1000000)
/* For a subreaper to hand over files, whose reader may store them meanwhile. */
#define COLLECTION_LIMIT_US (UINT64_C(60) * 1000000)
#define ORPHAN_PAUSE_US     1000
#define UNWATCHED_PAUSE_US  5000
#define REPORTS_AT_ONCE     8 /* other runs have their turn too */

int run_source_fd(const struct run *run, enum run_source source)
{
    const int fds[RUN_SOURCE_COUNT] = {
        [RUN_SOURCE_SOCKET] = run->socket,
        [RUN_SOURCE_REPORT] = run->process->report,
        [RUN_SOURCE_PIDFD] = run->process->pidfd,
    };
    return fds[source];
}

uint32_t run_slot(const struct run *run)
{
    return run->slot;
}

pid_t run_pid(const struct run *run)
{
    return run->process->pid;
}

/* The end of its report socket tells it to kill what it keeps. */
static void dismiss_subreaper(struct run *run)
{
    if (run->process->report >= 0)
        (void)shutdown(run->process->report, SHUT_RDWR);
    sandbox_handle_signal(run->process, SIGCONT);
    run->deadline_us = monotonic_us() + SUBREAPER_LIMIT_US;
}

/* false: this comes too late. Only the first cause counts. */
static bool note_kill(struct run *run, enum run_cause cause)
{
    if (run->evidence.killed || run->orphaned)
        return false;
    run->evidence.killed = true;
    run->evidence.kill_cause = cause;
    run->deadline_us = 0;
    return true;
}

/* A sandbox of namespaces dies with its init. A subreaper must live to kill what it keeps. */
static void kill_run(struct run *run, enum run_cause cause)
{
    if (!note_kill(run, cause) && !run->ordered)
        return;
    run->ordered = false;
    if (run->outlives_first)
        dismiss_subreaper(run);
    else
        sandbox_handle_signal(run->process, SIGKILL);
}

void run_order_end(struct run *run, enum run_cause cause)
{
    bool may_leave_files = run->collects && run->ready && run->process->report >= 0;
    if (!may_leave_files || shutdown(run->process->report, SHUT_WR) < 0) {
        kill_run(run, cause);
        return;
    }
    if (!note_kill(run, cause))
        return;
    run->ordered = true;
    run->deadline_us = monotonic_us() + ORDER_LIMIT_US;
}

static void handle_order(struct run *run)
{
    union {
        char order;
        struct session_order session;
    } message;
    int fds[SESSION_PROGRAM_FDS];
    size_t fd_count = 0;
    ssize_t length = channel_receive_fds_now(run->socket, &message, sizeof(message), fds,
                                             COUNT_OF(fds), &fd_count);
    if (length < 0 && errno == EAGAIN)
        return;
    if (length == sizeof(message.session))
        run_session_follow(run, &message.session, fds, fd_count);
    for (size_t i = 0; i < fd_count; i++)
        close_fd(fds[i]);
    if (length == sizeof(message.session))
        return;
    if (length == sizeof(message.order) &&
        (message.order == RUN_ORDER_WAITS || message.order == RUN_ORDER_GOES_ON)) {
        run_wait_order(run, message.order == RUN_ORDER_WAITS);
        return;
    }
    if (length == sizeof(message.order)) {
        run_order_end(run, message.order == RUN_ORDER_OUTPUT_LIMIT ? RUN_CAUSE_OUTPUT_LIMIT
                                                                   : RUN_CAUSE_CANCELLED);
        return;
    }
    kill_run(run, RUN_CAUSE_CANCELLED);
    close_fd(TAKE_FD(run->socket));
}

uint64_t run_wall_deadline(const struct run *run)
{
    uint64_t wall_us;
    uint64_t deadline;
    if (__builtin_mul_overflow(run->limits.wall_ms, UINT64_C(1000), &wall_us) || wall_us == 0 ||
        __builtin_add_overflow(run->started_us + run->waiting.credit_us, wall_us, &deadline))
        return 0;
    return deadline;
}

static void send_started(struct run *run)
{
    run->started = true;
    run->started_us = monotonic_us();
    if (!run->evidence.killed)
        run->deadline_us = run->session.idle_ms > 0
                               ? session_clock_begin(&run->clock, &run->session, run->started_us)
                               : run_wall_deadline(run);
    struct run_event event = {
        .type = RUN_EVENT_STARTED,
        .isolation = run->event.isolation,
        .origin = run->event.origin,
        .first_pid = run->process->pid,
        .exit_code = -1,
    };
    run_event_send(run->socket, &event);
}

static void handle_report(struct run *run, const struct report *report)
{
    switch ((enum report_kind)report->kind) {
    case REPORT_FILTERED: /* for the init alone */
        break;
    case REPORT_READY:
        run->ready = true;
        run->event.isolation = report->isolation;
        run->process->cgroup.has_memory = report->isolation.cgroup_has_memory != 0;
        run->process->cgroup.has_pids = report->isolation.cgroup_has_pids != 0;
        break;
    case REPORT_STARTED:
        send_started(run);
        break;
    case REPORT_FAILED:
        if (report->isolation.applied)
            run->event.isolation = report->isolation;
        run_event_fail(&run->event, (enum run_failure)report->failure, report->error_number,
                       report->message);
        run->event.failed_layer = report->failed_layer;
        break;
    case REPORT_ENDED:
        if (report->exceeded != RUN_CAUSE_EXIT && report->exceeded < RUN_CAUSE_COUNT)
            (void)note_kill(run, (enum run_cause)report->exceeded);
        run->evidence.program_ended = !run->evidence.killed; /* else that is how it ended */
        run->evidence.wait_status = report->wait_status;
        run->evidence.cpu_us = report->cpu_us;
        run->evidence.scratch_full = report->scratch_full != 0;
        if (run->event.failure == RUN_FAILURE_NONE && report->made_forbidden_call &&
            run->evidence.program_ended)
            system_call_name(report->system_call, run->event.message, sizeof(run->event.message));
        run->event.usage.wall_us = monotonic_us() - run->started_us;
        if (!run->unwatched && !run->evidence.killed) /* whose deadline must stay */
            run->deadline_us = run->outlives_first ? monotonic_us() + SUBREAPER_LIMIT_US : 0;
        run->tree_is_gone = report->tree_is_gone != 0;
        run->tree = report->usage;
        run->peak_processes = report->peak_processes;
        break;
    case REPORT_RESTORED:
        run_session_restored(run, report);
        break;
    case REPORT_PROGRAM:
        run_session_added(run, report);
        break;
    case REPORT_PARKED:
        run_session_parked(run, report);
        break;
    case REPORT_TREE_GONE:
        if (!run->unwatched && !run->evidence.killed)
            run->deadline_us = monotonic_us() + COLLECTION_LIMIT_US;
        break;
    }
}

/* Reads what is there, up to more than a run ever sends. A socket at its end would stay readable
 * for ever, so it is closed: a subreaper may need a while more. */
static void take_reports(struct run *run)
{
    struct report report;
    enum report_state state = REPORT_WHOLE;
    if (run->process->report < 0)
        return;
    for (int i = 0; i < REPORTS_AT_ONCE && state == REPORT_WHOLE; i++) {
        state = report_receive_now(run->process->report, &report);
        if (state == REPORT_WHOLE)
            handle_report(run, &report);
    }
    if (state == REPORT_END)
        close_fd(TAKE_FD(run->process->report));
}

void run_read_usage(struct run *run, const struct tree_usage *tree)
{
    struct cgroup_counts counts;
    cgroup_read(&run->process->cgroup, &counts);
    struct run_usage *ret = &run->event.usage;
    if (ret->wall_us == 0)
        ret->wall_us = monotonic_us() - run->started_us;
    ret->user_us = tree->user_us;
    ret->system_us = tree->system_us;
    ret->peak_memory_bytes =
        counts.peak_memory_bytes ? counts.peak_memory_bytes : tree->peak_memory_bytes;
    ret->processes = counts.peak_processes ? counts.peak_processes
                     : run->peak_processes ? run->peak_processes
                                           : RUN_USAGE_UNKNOWN;
    ret->memory_kills = counts.memory_kills - run->before.memory_kills;
    ret->process_refusals = counts.process_refusals - run->before.process_refusals;
    run->evidence.memory_kills = ret->memory_kills;
    run->evidence.process_refusals = ret->process_refusals;
    if (!run->process->cgroup.has_memory && !run->unconfined) {
        run->evidence.process_memory_bytes = tree->peak_memory_bytes;
        run->evidence.process_memory_limit = run->limits.memory_bytes;
    }
}

static void decide_end(struct run *run)
{
    struct run_event *event = &run->event;
    if (event->failure != RUN_FAILURE_NONE)
        return;
    cause_decide(&run->evidence, event);
    if (run->started || run->evidence.killed || event->cause == RUN_CAUSE_MEMORY_LIMIT)
        return;
    run_event_fail(event, RUN_FAILURE_INTERNAL, 0, "the set-up of the run was killed");
}

static void send_ended(struct run *run)
{
    decide_end(run);
    /* Ended by an order before its init could say so, it has perhaps done something. */
    if (run->ready && !run->started && run->event.failure == RUN_FAILURE_NONE)
        send_started(run);
    run_event_send(run->socket, &run->event);
}

/* The init has ended, and with it, as the kernel says (pid_namespaces(7)), everything in the
 * sandbox. A subreaper that ends well has left nothing. */
static bool handle_end(struct run *run)
{
    int status;
    struct rusage usage;
    pid_t pid = wait4(run->process->pid, &status, WNOHANG, &usage);
    if (pid == 0 || (pid < 0 && errno == EINTR))
        return false;
    if (pid < 0)
        usage = (struct rusage){.ru_maxrss = 0};
    run->process->pid = 0;
    take_reports(run);
    const struct tree_usage tree = tree_usage_of(&usage);
    run_read_usage(run, &tree);
    if (run->outlives_first && (pid < 0 || status != 0)) {
        run->orphaned = true;
        run->deadline_us = monotonic_us();
        close_fd(TAKE_FD(run->process->pidfd));
        return false;
    }
    send_ended(run);
    return true;
}

/* The caller does not wait for the end of the init and for the kernel's work on its namespaces. */
static bool answer_at_once(struct run *run)
{
    run_read_usage(run, &run->tree);
    send_ended(run);
    return true;
}

bool run_handle(struct run *run, enum run_source source)
{
    switch (source) {
    case RUN_SOURCE_SOCKET:
        handle_order(run);
        return false;
    case RUN_SOURCE_REPORT:
        take_reports(run);
        return run->tree_is_gone && answer_at_once(run);
    case RUN_SOURCE_PIDFD:
        return handle_end(run);
    case RUN_SOURCE_COUNT:
        break;
    }
    return false;
}

uint64_t run_deadline(const struct run *run)
{
    return run->deadline_us;
}

static bool expire_unwatched(struct run *run)
{
    if (handle_end(run))
        return true;
    if (run->orphaned)
        return false;
    run->deadline_us = monotonic_us() + UNWATCHED_PAUSE_US;
    if (run->deadline_us > run->started_us + SUBREAPER_LIMIT_US)
        sandbox_handle_signal(run->process, SIGKILL);
    return false;
}

bool run_expire(struct run *run, bool (*is_run)(pid_t pid, void *user), void *user)
{
    if (run->orphaned) {
        run->deadline_us = monotonic_us() + ORPHAN_PAUSE_US;
        if (!orphans_kill(is_run, user))
            return false;
        send_ended(run);
        return true;
    }
    if (run->unwatched)
        return expire_unwatched(run);
    take_reports(run); /* what it has said counts, however late this process is */
    if (run->tree_is_gone)
        return answer_at_once(run);
    if (run->deadline_us == 0 || run->deadline_us > monotonic_us())
        return false;
    if (run->evidence.killed || run->evidence.program_ended) {
        run->ordered = false;
        run->deadline_us = 0;
        sandbox_handle_signal(run->process, SIGKILL);
        return false;
    }
    if (run->started && run->session.idle_ms > 0) {
        run_session_expire(run);
        return false;
    }
    if (run->started && run_wait_goes_on(run))
        return false;
    if (!run->started)
        run_event_fail(&run->event, RUN_FAILURE_INTERNAL, ETIMEDOUT, "the set-up took too long");
    run_order_end(run, RUN_CAUSE_WALL_TIMEOUT);
    return false;
}

void run_fail_watch(struct run *run, int error_number)
{
    run_event_fail(&run->event, RUN_FAILURE_INTERNAL, error_number, "watch the run");
    kill_run(run, RUN_CAUSE_CANCELLED);
    run->unwatched = true;
    run->deadline_us = monotonic_us() + UNWATCHED_PAUSE_US;
}

void run_abandon(struct run *run)
{
    close_fd(TAKE_FD(run->socket));
    kill_run(run, RUN_CAUSE_CANCELLED);
}

struct sandbox_handle *run_free(struct run *run)
{
    struct sandbox_handle *process = run->process;
    close_fd(run->socket);
    free(run);
    return process;
}
