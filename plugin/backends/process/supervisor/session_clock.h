/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times of a session: how long it may be idle, how old it may become, and how long its cell may
 * take. A cell that has had its time is interrupted, and once more after a moment; then the session
 * ends. Soon after a cell all processes of the session stop until the next one: what a cell leaves
 * behind has a moment to finish, and no processor of its own for hours. Pure code; runs in the
 * supervisor. Times are microseconds of CLOCK_MONOTONIC.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/run_description.h"
#include "protocol/session.h"

#define SESSION_INTERRUPTS 2 /* of one cell */
#define SESSION_GRACE_US   (UINT64_C(1) * 1000000)
#define SESSION_AWAKE_US   (UINT64_C(1) * 1000000) /* behind a cell */

struct session_clock {
    uint64_t idle_us;   /* 0: the run is no session */
    uint64_t end_us;    /* when it has come of age; UINT64_MAX: never */
    uint64_t expiry_us; /* the end of its idle time, while it executes no cell */
    bool in_cell;
    bool is_stopped;
    unsigned interrupts; /* of this cell */
};

/* The session has started. Returns its deadline, as do the others. */
uint64_t session_clock_begin(struct session_clock *clock, const struct run_session *session,
                             uint64_t now_us);
/* 0: the order has no effect now, and what was the deadline still is. *ret_wakes: its processes are
 * to go on. */
uint64_t session_clock_order(struct session_clock *clock, const struct session_order *order,
                             uint64_t now_us, bool *ret_wakes);

enum session_due {
    SESSION_DUE_INTERRUPT, /* the cell's program, with the new deadline */
    SESSION_DUE_TIMEOUT,   /* it has not heeded that: end the session */
    SESSION_DUE_STOP,      /* stop its processes, with the new deadline */
    SESSION_DUE_EXPIRY,    /* it is idle or of age: end it */
};

/* Its deadline is over. */
enum session_due session_clock_due(struct session_clock *clock, uint64_t now_us,
                                   uint64_t *ret_deadline_us);
