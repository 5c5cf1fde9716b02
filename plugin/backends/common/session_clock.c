/* SPDX-License-Identifier: Apache-2.0 */
/* The times of a session: see session_clock.h. Pure code; runs in a backend. */
#include "backends/common/session_clock.h"

/* A limit that is beyond the clock is none. */
static uint64_t after(uint64_t now_us, uint64_t milliseconds)
{
    uint64_t span_us;
    uint64_t sum;
    if (__builtin_mul_overflow(milliseconds, UINT64_C(1000), &span_us) ||
        __builtin_add_overflow(now_us, span_us, &sum))
        return UINT64_MAX;
    return sum;
}

static uint64_t become_idle(struct session_clock *clock, uint64_t now_us)
{
    uint64_t stop_us = now_us + SESSION_AWAKE_US;
    clock->expiry_us = now_us + clock->idle_us;
    if (clock->expiry_us > clock->end_us)
        clock->expiry_us = clock->end_us;
    clock->in_cell = false;
    clock->is_stopped = false;
    clock->interrupts = 0;
    return stop_us < clock->expiry_us ? stop_us : clock->expiry_us;
}

uint64_t session_clock_begin(struct session_clock *clock, const struct run_session *session,
                             uint64_t now_us)
{
    *clock = (struct session_clock){
        .idle_us = session->idle_ms * 1000,
        .end_us = session->age_ms > 0 ? after(now_us, session->age_ms) : UINT64_MAX,
    };
    return become_idle(clock, now_us);
}

static uint64_t first_look(const struct session_clock *clock, uint64_t now_us)
{
    uint64_t look_us = now_us + SESSION_MEASURE_PAUSE_US;
    return clock->cpu_limit_us > 0 && look_us < clock->cell_end_us ? look_us : clock->cell_end_us;
}

uint64_t session_clock_order(struct session_clock *clock, const struct session_order *order,
                             uint64_t now_us, bool *ret_wakes)
{
    *ret_wakes = false;
    switch ((enum session_order_kind)order->kind) {
    case SESSION_ORDER_CELL:
        *ret_wakes = clock->is_stopped;
        clock->is_stopped = false;
        clock->in_cell = true;
        clock->interrupts = 0;
        clock->cpu_limit_us = order->cpu_ms * UINT64_C(1000);
        clock->is_cpu_spent = false;
        clock->is_measured = false;
        clock->cpu_used_us = 0;
        clock->cell_end_us = after(now_us, order->wall_ms);
        return first_look(clock, now_us);
    case SESSION_ORDER_IDLE:
    case SESSION_ORDER_COLLECT:
        return become_idle(clock, now_us);
    case SESSION_ORDER_INTERRUPT:
        if (!clock->in_cell || clock->interrupts > 0)
            return 0;
        clock->cell_end_us = now_us;
        return now_us;
    case SESSION_ORDER_UNDO: /* the caller's */
    case SESSION_ORDER_PROGRAM:
    case SESSION_ORDER_PARK:
    case SESSION_ORDER_WAKE:
    case SESSION_ORDER_DROP:
    case SESSION_ORDER_MEASURE:
        break;
    }
    return 0;
}

static void note_look(struct session_clock *clock, const struct session_measure *measure)
{
    if (!clock->is_measured)
        clock->cpu_begin_us = measure->total_us;
    else if (measure->total_us > clock->cpu_begin_us + clock->cpu_used_us)
        clock->cpu_used_us = measure->total_us - clock->cpu_begin_us;
    clock->is_measured = true;
}

uint64_t session_clock_measured(struct session_clock *clock, const struct session_measure *measure,
                                uint64_t now_us)
{
    if (measure->is_known) {
        note_look(clock, measure);
    } else if (!clock->is_measured) {
        clock->cpu_limit_us = 0;
        return clock->cell_end_us;
    }
    if (clock->cpu_used_us >= clock->cpu_limit_us) {
        clock->is_cpu_spent = true;
        clock->cell_end_us = now_us;
        return now_us;
    }
    uint64_t pause_us = (clock->cpu_limit_us - clock->cpu_used_us) / measure->processors;
    if (pause_us < SESSION_MEASURE_PAUSE_US)
        pause_us = SESSION_MEASURE_PAUSE_US;
    if (pause_us < measure->cost_us * SESSION_MEASURE_SHARE)
        pause_us = measure->cost_us * SESSION_MEASURE_SHARE;
    uint64_t next_us = now_us + pause_us;
    return next_us < clock->cell_end_us ? next_us : clock->cell_end_us;
}

uint64_t session_clock_extend(struct session_clock *clock, uint64_t us, uint64_t now_us)
{
    if (!clock->in_cell || clock->interrupts > 0 || clock->is_cpu_spent)
        return 0;
    if (__builtin_add_overflow(clock->cell_end_us, us, &clock->cell_end_us))
        clock->cell_end_us = UINT64_MAX;
    return first_look(clock, now_us);
}

enum run_cause session_clock_cause(const struct session_clock *clock)
{
    return clock->is_cpu_spent ? RUN_CAUSE_CPU_LIMIT : RUN_CAUSE_WALL_TIMEOUT;
}

enum session_due session_clock_due(struct session_clock *clock, uint64_t now_us,
                                   uint64_t *ret_deadline_us)
{
    if (!clock->in_cell && (clock->is_stopped || clock->expiry_us <= now_us))
        return SESSION_DUE_EXPIRY;
    if (!clock->in_cell) {
        clock->is_stopped = true;
        *ret_deadline_us = clock->expiry_us;
        return SESSION_DUE_STOP;
    }
    if (clock->interrupts == 0 && clock->cpu_limit_us > 0 && now_us < clock->cell_end_us)
        return SESSION_DUE_MEASURE;
    if (clock->interrupts == SESSION_INTERRUPTS)
        return SESSION_DUE_TIMEOUT;
    clock->interrupts++;
    *ret_deadline_us = now_us + SESSION_GRACE_US;
    return SESSION_DUE_INTERRUPT;
}
