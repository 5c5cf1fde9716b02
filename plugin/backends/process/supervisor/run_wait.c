/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the time that a run, or a cell of a session, spends waiting for the gateway's tools, which
 * its wall time does not count. The plugin says when calls are open; what the program's processes
 * use meanwhile is measured here, outside of the sandbox. Runs in the supervisor.
 */
#include "backends/process/supervisor/run_state.h"

/* Between two looks at one that waits: whoever has next to no time left is not looked at without a
 * pause. */
#define LOOK_PAUSE_US (UINT64_C(10) * 1000)

static bool is_session(const struct run *run)
{
    return run->session.idle_ms > 0;
}

/* Is there a program whose time goes by? */
static bool has_time(const struct run *run)
{
    if (!run->started || run->evidence.killed)
        return false;
    return !is_session(run) || (run->clock.in_cell && run->clock.interrupts == 0 &&
                                !run->restoring && !run->awaits_init);
}

/* What cannot be measured is charged whole. Returns the time that is not counted since the last
 * look. */
static uint64_t settle(struct run *run, void (*count)(struct waiting_clock *, uint64_t, uint64_t))
{
    uint64_t used_us;
    uint64_t credit_us = run->waiting.credit_us;
    if (run_processor_time(run, &used_us))
        count(&run->waiting, monotonic_us(), used_us);
    else
        run->waiting.waits = false;
    return run->waiting.credit_us - credit_us;
}

/* 0: it stays what it was. */
static uint64_t later_deadline(struct run *run, uint64_t gained_us)
{
    return is_session(run) ? session_clock_extend(&run->clock, gained_us, monotonic_us())
                           : run_wall_deadline(run);
}

void run_wait_begin_cell(struct run *run, uint32_t limit_ms)
{
    run->waiting = (struct waiting_clock){.limit_us = limit_ms * UINT64_C(1000)};
}

void run_wait_order(struct run *run, bool waits)
{
    if (!has_time(run) || waits == run->waiting.waits)
        return;
    uint64_t gained_us = settle(run, waits ? waiting_clock_begin : waiting_clock_end);
    uint64_t deadline_us = later_deadline(run, gained_us);
    if (deadline_us > 0 || !is_session(run))
        run->deadline_us = deadline_us;
}

uint64_t run_wait_pause(const struct run *run, uint64_t deadline_us)
{
    uint64_t soonest_us = monotonic_us() + LOOK_PAUSE_US;
    return run->waiting.waits && deadline_us < soonest_us ? soonest_us : deadline_us;
}

bool run_wait_goes_on(struct run *run)
{
    if (!run->waiting.waits || !has_time(run))
        return false;
    uint64_t deadline_us = later_deadline(run, settle(run, waiting_clock_settle));
    /* A cell with a limit of processor time is measured next. */
    bool is_measured = is_session(run) && run->clock.cpu_limit_us > 0;
    if (is_measured || deadline_us <= monotonic_us())
        return false;
    run->deadline_us = run_wait_pause(run, deadline_us);
    return true;
}
