/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the additional work of a run with tools. It takes the socket of answers, which its container
 * then reads (container_tools.c). It also measures the time that the run or its cell spends waiting
 * for answers; the wall time does not count it. The plugin says when calls are open. The guest
 * measures on request how much processor time the program uses while it waits (run_private.h); the
 * program cannot influence that. If the guest's answer is late, the delay counts against the
 * program. Runs in a backend of containers.
 */
#include <errno.h>

#include "backends/common/run_answer.h"
#include "backends/guest_runs/container/run_message.h"
#include "backends/guest_runs/run/run_private.h"

/* The longest wait for a guest's answer, after the end of the program's time. */
#define MEASURE_LIMIT_US (UINT64_C(1) * 1000000)
/* The pause between two measurements of a run that waits with almost no time left. */
#define LOOK_PAUSE_US (UINT64_C(10) * 1000)

uint64_t run_wall_deadline(const struct run *run)
{
    uint64_t wall_us;
    uint64_t deadline;
    if (__builtin_mul_overflow(run->description.limits.wall_ms, UINT64_C(1000), &wall_us) ||
        wall_us == 0 ||
        __builtin_add_overflow(run->started_us + run->waiting.credit_us, wall_us, &deadline))
        return 0;
    return deadline;
}

bool run_tools_take(struct run *run, int socket)
{
    if (!run->description.tools || run->description.purpose != RUN_PURPOSE_PROGRAM)
        return true;
    errno = ENOTSUP;
    run->waiting.limit_us = run->description.tools_wait_ms * 1000;
    return (run->description.tool_command || run_message_has_runner(&run->description)) &&
           socket_sender_open(&run->job.senders[JOB_ANSWERS], GUEST_ORDER_ANSWERS, socket);
}

/* Is there a program whose time goes by? */
static bool has_time(const struct run *run)
{
    if (run->job.session && !run_cell_has_time(run))
        return false;
    return run->job.started && run->container && !run->killed && !run->ordered && !run->answered &&
           run->event.failure == RUN_FAILURE_NONE;
}

void run_measure(struct run *run)
{
    if (run->is_measuring)
        return;
    run->is_measuring = true;
    run->asked_us = monotonic_us();
    run_tell_guest(run, GUEST_ORDER_MEASURE);
}

void run_wait_order(struct run *run, bool waits)
{
    if (!has_time(run) || !run->job.senders[JOB_ANSWERS].order || waits == run->has_open_calls)
        return;
    run->has_open_calls = waits;
    if (!waits && run->waiting.waits && run->closed_us == 0)
        run->closed_us = monotonic_us();
    run_measure(run);
}

void run_wait_forget(struct run *run)
{
    run->waiting.waits = run->has_open_calls = false;
    run->closed_us = 0;
}

void run_wait_begin_cell(struct run *run, uint32_t limit_ms)
{
    run_wait_forget(run);
    run->waiting = (struct waiting_clock){.limit_us = limit_ms * UINT64_C(1000)};
}

uint64_t run_wait_pause(const struct run *run, uint64_t deadline_us)
{
    uint64_t soonest_us = monotonic_us() + LOOK_PAUSE_US;
    return run->waiting.waits && deadline_us < soonest_us ? soonest_us : deadline_us;
}

/* A wait ends when the plugin says so. The next one begins with the measurement after it, not
 * earlier. */
static void count_wait(struct run *run, uint64_t now_us, uint64_t used_us)
{
    if (run->closed_us > 0)
        waiting_clock_end(&run->waiting, run->closed_us, used_us);
    run->closed_us = 0;
    if (run->waiting.waits)
        waiting_clock_settle(&run->waiting, now_us, used_us);
    else if (run->has_open_calls)
        waiting_clock_begin(&run->waiting, now_us, used_us);
}

/* Time that cannot be measured counts in full. */
uint64_t run_wait_measured(struct run *run, const struct guest_measure *measure)
{
    uint64_t credit_us = run->waiting.credit_us;
    if (!has_time(run))
        return 0;
    if (measure->is_known)
        count_wait(run, monotonic_us(), measure->total_us);
    else
        run->waiting.waits = false;
    return run->waiting.credit_us - credit_us;
}

static void take_measure(struct run *run, const struct guest_measure *measure)
{
    (void)run_wait_measured(run, measure);
    run->deadline_us = run_wall_deadline(run);
    if (run->deadline_us > 0 && run->deadline_us <= monotonic_us())
        run->waiting.waits = false;
    if (run->deadline_us > 0)
        run->deadline_us = run_wait_pause(run, run->deadline_us);
}

bool run_measured(struct run *run, const struct guest_measure *measure)
{
    if (run->job.session)
        return run_cell_measured(run, measure);
    if (!run->is_measuring)
        return false;
    run->is_measuring = false;
    if (has_time(run))
        take_measure(run, measure);
    return true;
}

bool run_wait_goes_on(struct run *run)
{
    if (!run->waiting.waits || !has_time(run) || run->container->end.reported)
        return false;
    run_measure(run);
    run->deadline_us = run->asked_us + MEASURE_LIMIT_US;
    return run->deadline_us > monotonic_us();
}
