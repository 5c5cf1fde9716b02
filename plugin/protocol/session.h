/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session: a run that stays, and executes one cell after the other. Its description has
 * session.idle_ms, and its standard input (RUN_FD_STDIN) is the inner end of a socket on which its
 * interpreter waits for cells. The plugin has shut that end down for writing, so nothing comes out
 * of it, no descriptor either.
 *   plugin -> interpreter, a cell: one byte, as below, with the descriptors of enum run_fd from
 *                                  RUN_FD_DESCRIPTION on; or brief (session_cell.h). The
 *                                  description is that of a run: the cell's code is its program.
 *   interpreter -> plugin:         a frame on the cell's RUN_FD_RESULTS, once the cell has ended
 *   plugin -> backend:             struct session_order on the run's socket
 *   backend -> plugin:             RUN_EVENT_INTERRUPTED there, RUN_EVENT_RESTORED,
 *                                  RUN_EVENT_PROGRAM, RUN_EVENT_PARKED, and RUN_EVENT_MEASURED
 * Further languages have interpreters of their own in the same sandbox, each with its own socket of
 * cells. They are numbered in the order of their start, from 0, which is the run's own. The end of
 * any of them is the end of the session.
 * Where session.checkpoints is not 0, a copy of the interpreter sleeps ahead of each cell. A cell
 * in which the interpreter ends is undone by itself: RUN_EVENT_RESTORED instead of RUN_EVENT_ENDED.
 * A session with checkpoints can have several branches, numbered from 0. The interpreter of one of
 * them runs at most; those of the others sleep as checkpoints do. Which branch runs is the plugin's
 * to know.
 * A second after a cell all processes of the session are stopped, until the next one.
 * The end of the socket of cells ends the interpreter, and its end the session. An idle session,
 * and one that has come of age, is ended by the backend.
 */
#pragma once

#include <stdint.h>

#define SESSION_CELL            'x'
#define SESSION_CELL_CHECKPOINT 'k' /* the same, with a checkpoint ahead of it */
/* No cell, and without descriptors: the interpreter makes a copy of itself that sleeps, and goes on
 * as a new branch. */
#define SESSION_PARK 'p'

/* What the names of the cells' sources begin with, in the directory for temporary files. */
#define SESSION_CELL_SOURCES "cell-"

enum session_order_kind {
    SESSION_ORDER_CELL =
        1, /* a cell is about to be sent, with so much time: the end of either interrupts it */
    SESSION_ORDER_IDLE,      /* it has ended */
    SESSION_ORDER_INTERRUPT, /* interrupt the cell, as at the end of its time */
    SESSION_ORDER_UNDO,      /* back to before the last cells: RUN_EVENT_RESTORED is the answer */
    SESSION_ORDER_COLLECT,   /* it has ended, and what is new or changed since the cell before is
                                wanted: with a RUN_FD_DESCRIPTION of outputs and input files alone,
                                and RUN_FD_FILES */
    SESSION_ORDER_PROGRAM,   /* start another interpreter, between two cells: with the descriptors
                                of a run from RUN_FD_DESCRIPTION on. RUN_EVENT_PROGRAM is the answer:
                                it waits for cells, or, with failure, there is none and the session
                                is as it was */
    SESSION_ORDER_PARK,      /* between two cells, ahead of SESSION_PARK: its copy sleeps as that
                                branch, with the checkpoints so far. RUN_EVENT_PARKED is the answer;
                                with failure the session is as it was */
    SESSION_ORDER_WAKE,      /* that branch goes on, and what runs ends: RUN_EVENT_RESTORED is the
                                answer; with failure its copy is dead, and the session as it was */
    SESSION_ORDER_DROP,      /* that branch ends. No answer */
    SESSION_ORDER_MEASURE,   /* the cell has ended, and IDLE or COLLECT follows: what it has spent
                                is wanted, of a backend whose row says so. RUN_EVENT_MEASURED is the
                                answer */
};

/* Of the names that an interpreter tells at the end of a cell; session.py and session.js know them
 * too (test_name_limits.py). */
#define SESSION_NAMES_MOST 200
#define SESSION_NAME_BYTES 100 /* of each */

#define SESSION_COLLECT_FDS   2 /* of COLLECT */
#define SESSION_PROGRAM_FDS   8 /* of PROGRAM */
#define SESSION_PROGRAMS_MOST 4 /* of one session */
#define SESSION_BRANCHES_MOST 8 /* of one session */
/* In DROP: what runs, while another branch sleeps. */
#define SESSION_BRANCH_AWAKE SESSION_BRANCHES_MOST

/* Both ends are of one build: sent as it is. */
struct session_order {
    uint32_t kind;         /* enum session_order_kind */
    uint32_t wall_ms;      /* of a cell */
    uint32_t cpu_ms;       /* of all processes of the session, while it executes the cell; 0: any */
    uint32_t haste;        /* 1, of COLLECT: the cell was ordered to end */
    uint32_t program;      /* of a cell: the number of its interpreter */
    uint32_t runner;       /* of PROGRAM: enum run_interpreter of its description */
    uint32_t tool_command; /* of PROGRAM: that of its description */
    uint32_t cells;        /* of UNDO: how many, at least one */
    uint32_t branch;       /* of PARK, WAKE and DROP */
    uint32_t tools_wait_ms; /* of a cell: for answers to its calls of tools, beyond wall_ms */
};
