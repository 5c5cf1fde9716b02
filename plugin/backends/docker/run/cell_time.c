/* SPDX-License-Identifier: Apache-2.0 */
/* The processor time of a cell, which the guest measures when it is asked (run_private.h). Runs in
 * the docker backend. */
#include "backends/common/run_answer.h"
#include "backends/docker/run/run_private.h"

void run_cell_begun(struct run *run)
{
    run->measures_late = run->is_measuring;
}

/* One question at a time. Until it is answered the cell has its wall time. */
void run_measure_cell(struct run *run)
{
    run->deadline_us = run->clock.cell_end_us;
    if (run->is_measuring)
        return;
    run->is_measuring = true;
    run_tell_guest(run, GUEST_ORDER_MEASURE);
}

static bool is_wanted(const struct run *run, uint64_t now_us)
{
    const struct session_clock *clock = &run->clock;
    return clock->in_cell && clock->interrupts == 0 && clock->cpu_limit_us > 0 &&
           now_us < clock->cell_end_us && !run->is_restoring && !run->is_restored && !run->killed &&
           !run->ordered && !run->answered;
}

/* The answer to a question of the cell before is no begin for this one. */
bool run_cell_measured(struct run *run, const struct guest_measure *measure)
{
    uint64_t now_us = monotonic_us();
    bool is_late = run->measures_late;
    const struct session_measure look = {.is_known = measure->is_known != 0,
                                         .total_us = measure->total_us,
                                         .cost_us = measure->cost_us,
                                         .processors = measure->processors};
    if (!run->is_measuring)
        return false;
    run->is_measuring = run->measures_late = false;
    if (is_wanted(run, now_us) && is_late)
        run_measure_cell(run);
    else if (is_wanted(run, now_us))
        run->deadline_us = session_clock_measured(&run->clock, &look, now_us);
    return true;
}
