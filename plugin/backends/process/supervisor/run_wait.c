/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the time that a run spends waiting for the gateway's tools, which its wall time does not
 * count. The plugin says when calls are open; what the program's processes use meanwhile is
 * measured here, outside of the sandbox. Runs in the supervisor.
 */
#include "backends/process/supervisor/run_state.h"

/* What cannot be measured is charged whole. */
static void settle(struct run *run, void (*count)(struct waiting_clock *, uint64_t, uint64_t))
{
    uint64_t used_us;
    if (run_processor_time(run, &used_us))
        count(&run->waiting, monotonic_us(), used_us);
    else
        run->waiting.waits = false;
}

void run_wait_order(struct run *run, bool waits)
{
    if (!run->started || run->evidence.killed || run->session.idle_ms > 0 ||
        waits == run->waiting.waits)
        return;
    settle(run, waits ? waiting_clock_begin : waiting_clock_end);
    run->deadline_us = run_wall_deadline(run);
}

bool run_wait_goes_on(struct run *run)
{
    if (!run->waiting.waits)
        return false;
    settle(run, waiting_clock_settle);
    run->deadline_us = run_wall_deadline(run);
    return run->deadline_us > monotonic_us();
}
