/* SPDX-License-Identifier: Apache-2.0 */
/* The way back to before a cell of a session, or to another branch of it, which its guest goes
 * (run_private.h). Runs in a backend of containers. */
#include <signal.h>

#include "backends/guest_runs/run/run_private.h"
#include "protocol/checkpoint.h"

/* For a guest to kill its tree and to put the files back. */
#define RESTORE_LIMIT_US (UINT64_C(10) * 1000000)
/* For the engine to say that an interpreter was killed for want of memory. */
#define REASON_LIMIT_US (UINT64_C(500) * 1000)

void run_begin_restore(struct run *run, enum run_cause cause, unsigned char order)
{
    run->is_restoring = true;
    run->restored_for = cause;
    run->deadline_us = monotonic_us() + RESTORE_LIMIT_US;
    run_tell_guest(run, (char)order);
}

void run_undo_cells(struct run *run, enum run_cause cause, uint32_t cells)
{
    if (cells <= CHECKPOINTS_MOST)
        run_begin_restore(
            run, cause,
            (unsigned char)(cells > 0 ? GUEST_ORDER_UNDO_CELLS + cells : GUEST_ORDER_UNDO));
}

/* As of a run that has ended so. */
static struct run_event describe(struct run *run)
{
    struct container *container = run->container;
    const struct container_end end = {.reported = true,
                                      .program = run->undone,
                                      .memory_killed = container->memory_killed &&
                                                       run->restored_for == RUN_CAUSE_EXIT};
    struct run_event event = run->event;
    container_cause_decide(&end, &event);
    if (container->memory_killed)
        event.usage.memory_kills = 1;
    if (run->restored_for != RUN_CAUSE_EXIT) {
        event.cause = run->restored_for;
        event.exit_code = -1;
        event.signal = SIGKILL;
    }
    container->memory_killed = false;
    return event;
}

static void answer(struct run *run, struct run_event event)
{
    const struct session_order idle = {.kind = SESSION_ORDER_IDLE};
    bool wakes;
    event.type = RUN_EVENT_RESTORED;
    run->is_restoring = run->is_restored = false;
    run->restored_for = RUN_CAUSE_EXIT;
    run->deadline_us = session_clock_order(&run->clock, &idle, monotonic_us(), &wakes);
    run_event_send(run->socket, &event);
}

void run_cell_restored(struct run *run, const struct guest_end *ended)
{
    bool is_asked_for = run->is_restoring;
    if (run->killed || run->ordered || run->answered)
        return;
    if (!ended) {
        struct run_event refused = run->event;
        refused.failure = RUN_FAILURE_INTERNAL;
        refused.cause = RUN_CAUSE_INFRASTRUCTURE;
        if (run->restored_for != RUN_CAUSE_EXIT) /* the cell has had its time */
            run_order_end(run, run->restored_for);
        else
            answer(run, refused);
        return;
    }
    run->undone = *ended;
    run->is_restored = true;
    if (!is_asked_for && ended->wait_status == SIGKILL && !run->container->memory_killed)
        run->deadline_us = monotonic_us() + REASON_LIMIT_US;
    else
        answer(run, describe(run));
}

void run_undo_expire(struct run *run)
{
    if (run->is_restored)
        answer(run, describe(run));
    else
        run_order_end(run, run->restored_for == RUN_CAUSE_EXIT ? RUN_CAUSE_CANCELLED
                                                               : run->restored_for);
}
