/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times of a session: how long it may be idle, how old it may become, and how long its cell may
 * take, also of the processors. A cell that has had its time is interrupted, and once more after a
 * moment; then the session ends. Soon after a cell all processes of the session stop until the next
 * one: what a cell leaves behind has a moment to finish, and no processor of its own for hours.
 * Pure code; runs in a backend that keeps sessions. Times are microseconds of CLOCK_MONOTONIC.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/run_description.h"
#include "protocol/run_event.h"
#include "protocol/session.h"

#define SESSION_INTERRUPTS 2 /* of one cell */
#define SESSION_GRACE_US   (UINT64_C(1) * 1000000)
#define SESSION_AWAKE_US   (UINT64_C(1) * 1000000) /* behind a cell */
/* Between two looks at a cell's processor time: at least so long, and so many times as long as a
 * look takes. */
#define SESSION_MEASURE_PAUSE_US (UINT64_C(10) * 1000)
#define SESSION_MEASURE_SHARE    20

struct session_clock {
    uint64_t idle_us;   /* 0: the run is no session */
    uint64_t end_us;    /* when it has come of age; UINT64_MAX: never */
    uint64_t expiry_us; /* the end of its idle time, while it executes no cell */
    bool in_cell;
    bool is_stopped;
    unsigned interrupts; /* of this cell */
    uint64_t cell_end_us;
    uint64_t cpu_limit_us; /* of the cell; 0: none, or nobody can measure it */
    bool is_cpu_spent;
    bool is_measured;      /* the cell was, so that the next two are known */
    uint64_t cpu_begin_us; /* of the session, when the cell was measured first */
    uint64_t cpu_used_us;  /* since then, when it was measured last */
};

/* The session has started. Returns its deadline, as do the others. */
uint64_t session_clock_begin(struct session_clock *clock, const struct run_session *session,
                             uint64_t now_us);
/* 0: the order has no effect now, and what was the deadline still is. *ret_wakes: its processes are
 * to go on. */
uint64_t session_clock_order(struct session_clock *clock, const struct session_order *order,
                             uint64_t now_us, bool *ret_wakes);

/* A look at the processor time of a session. */
struct session_measure {
    bool is_known;     /* false: it cannot be measured */
    uint64_t total_us; /* of all its processes, from any begin */
    uint64_t cost_us;  /* of measuring it */
    uint64_t processors;
};

/* The cell was measured now. The first look is the begin, and not that of the cell: most cells end
 * sooner than it would pay. Time does not run faster than on all processors at once, so the cell
 * needs no other look before the deadline that is returned. Where the first look tells nothing,
 * wall time alone limits the cell; where a later one does not, the one before holds. */
uint64_t session_clock_measured(struct session_clock *clock, const struct session_measure *measure,
                                uint64_t now_us);

/* So much of the cell's time does not count. 0: there is no cell, or it has had its time: what was
 * the deadline still is. */
uint64_t session_clock_extend(struct session_clock *clock, uint64_t us, uint64_t now_us);

/* The limit of the cell that was over first: RUN_CAUSE_CPU_LIMIT or RUN_CAUSE_WALL_TIMEOUT. */
enum run_cause session_clock_cause(const struct session_clock *clock);

enum session_due {
    SESSION_DUE_MEASURE,   /* the cell's processor time: session_clock_measured() */
    SESSION_DUE_INTERRUPT, /* the cell's program, with the new deadline */
    SESSION_DUE_TIMEOUT,   /* it has not heeded that: end the session */
    SESSION_DUE_STOP,      /* stop its processes, with the new deadline */
    SESSION_DUE_EXPIRY,    /* it is idle or of age: end it */
};

/* Its deadline is over. */
enum session_due session_clock_due(struct session_clock *clock, uint64_t now_us,
                                   uint64_t *ret_deadline_us);
