/* SPDX-License-Identifier: Apache-2.0 */
/* The branches of a session (protocol/session.h), whose interpreters its guest puts to sleep, wakes
 * and ends (run_private.h). Runs in a backend of containers. */
#include <stdio.h>

#include "backends/guest_runs/run/run_private.h"

/* For a guest to have a copy of its interpreter, and of the files. */
#define PARK_LIMIT_MS 10000

/* The session is idle meanwhile, but for its deadline. */
static void park(struct run *run, uint32_t branch)
{
    const struct session_order start = {.kind = SESSION_ORDER_CELL, .wall_ms = PARK_LIMIT_MS};
    bool wakes; /* its guest sends all on with the order */
    if (run->clock.in_cell)
        return;
    run->deadline_us = session_clock_order(&run->clock, &start, monotonic_us(), &wakes);
    run->is_parking = true;
    run_tell_guest(run, (char)(unsigned char)(GUEST_ORDER_PARK + branch));
}

void run_branch_parked(struct run *run, enum checkpoint_word word)
{
    const struct session_order idle = {.kind = SESSION_ORDER_IDLE};
    struct run_event event = {.type = RUN_EVENT_PARKED,
                              .failure = word == CHECKPOINT_TAKEN ? RUN_FAILURE_NONE
                                                                  : RUN_FAILURE_INTERNAL,
                              .exit_code = -1};
    bool wakes;
    if (!run->is_parking || run->killed || run->ordered || run->answered)
        return;
    (void)snprintf(event.message, sizeof(event.message), "%s", checkpoint_word_name(word));
    run->is_parking = false;
    run->deadline_us = session_clock_order(&run->clock, &idle, monotonic_us(), &wakes);
    run_event_send(run->socket, &event);
}

bool run_branch_order(struct run *run, const struct session_order *order)
{
    bool is_number = order->branch < SESSION_BRANCHES_MOST;
    switch ((enum session_order_kind)order->kind) {
    case SESSION_ORDER_PARK:
        if (is_number)
            park(run, order->branch);
        return true;
    case SESSION_ORDER_WAKE:
        if (is_number)
            run_begin_restore(run, RUN_CAUSE_EXIT,
                              (unsigned char)(GUEST_ORDER_WAKE + order->branch));
        return true;
    case SESSION_ORDER_DROP:
        if (is_number || order->branch == SESSION_BRANCH_AWAKE)
            run_tell_guest(run, (char)(unsigned char)(GUEST_ORDER_DROP + order->branch));
        return true;
    case SESSION_ORDER_CELL:
    case SESSION_ORDER_IDLE:
    case SESSION_ORDER_INTERRUPT:
    case SESSION_ORDER_UNDO:
    case SESSION_ORDER_COLLECT:
    case SESSION_ORDER_PROGRAM:
    case SESSION_ORDER_MEASURE:
        break;
    }
    return false;
}
