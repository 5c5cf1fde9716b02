/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a cell: the processor time, which the guest measures when it is asked, what it has
 * spent of that, and how its end comes later by what it spends waiting for tools (run_private.h).
 * Runs in a backend of containers. */
#include "backends/common/run_answer.h"
#include "backends/guest_runs/run/run_private.h"

void run_cell_begun(struct run *run, uint32_t tools_wait_ms)
{
    run->measures_late = run->is_measuring;
    run->has_first_look = false;
    run->usage_wanted_us = 0;
    run_wait_begin_cell(run, tools_wait_ms);
}

bool run_cell_has_time(const struct run *run)
{
    const struct session_clock *clock = &run->clock;
    return clock->in_cell && clock->interrupts == 0 && !clock->is_cpu_spent && !run->job.adds &&
           !run->is_parking && !run->is_restoring && !run->is_restored && !run->killed &&
           !run->ordered && !run->answered;
}

/* Until the question is answered the cell has its wall time. */
void run_measure_cell(struct run *run)
{
    run->deadline_us = run->clock.cell_end_us;
    run_measure(run);
}

static bool is_limited(const struct run *run, uint64_t now_us)
{
    return run->clock.cpu_limit_us > 0 && now_us < run->clock.cell_end_us;
}

static void take_wait(struct run *run, const struct guest_measure *measure, uint64_t now_us)
{
    uint64_t deadline_us =
        session_clock_extend(&run->clock, run_wait_measured(run, measure), now_us);
    if (run->clock.cell_end_us <= now_us)
        run->waiting.waits = false;
    if (deadline_us > 0)
        run->deadline_us = deadline_us;
}

/* The kernel's sums may lack a process that ends during the measurement. */
static uint64_t since(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

static void send_usage(struct run *run, const struct guest_measure *measure)
{
    const struct guest_measure *first = &run->first_look;
    struct run_event event = {.type = RUN_EVENT_MEASURED,
                              .exit_code = -1,
                              .usage = {.user_us = RUN_USAGE_UNKNOWN,
                                        .system_us = RUN_USAGE_UNKNOWN,
                                        .peak_memory_bytes = RUN_USAGE_UNKNOWN,
                                        .processes = RUN_USAGE_UNKNOWN}};
    if (run->has_first_look && measure->is_known) {
        event.usage.user_us = since(first->user_us, measure->user_us);
        event.usage.system_us =
            since(first->total_us - first->user_us, measure->total_us - measure->user_us);
    }
    run->usage_wanted_us = 0;
    run_event_send(run->socket, &event);
}

/* An answer to a question from before the cell's end does not cover all of the cell. */
static void take_usage(struct run *run, const struct guest_measure *measure, bool is_late)
{
    if (run->usage_wanted_us > 0 && run->asked_us >= run->usage_wanted_us)
        send_usage(run, measure);
    if (!is_late && measure->is_known && !run->has_first_look) {
        run->first_look = *measure;
        run->has_first_look = true;
    }
    if (run->usage_wanted_us > 0)
        run_measure(run);
}

void run_cell_tell_usage(struct run *run)
{
    run->usage_wanted_us = monotonic_us();
    run_measure(run);
}

/* The answer to a question about the cell before is no start value for this one. */
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
    take_usage(run, measure, is_late);
    if (!run_cell_has_time(run))
        return true;
    if (is_late && (is_limited(run, now_us) || run->has_open_calls)) {
        run_measure(run);
        return true;
    }
    if (run->has_open_calls || run->waiting.waits)
        take_wait(run, measure, now_us);
    if (is_limited(run, now_us))
        run->deadline_us = session_clock_measured(&run->clock, &look, now_us);
    run->deadline_us = run_wait_pause(run, run->deadline_us);
    return true;
}
