/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as the supervisor holds it, between its start (run_start.c) and its end (run.c). Nobody
 * else looks inside. Runs in the supervisor, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backends/common/session_clock.h"
#include "backends/common/waiting_clock.h"
#include "backends/process/messages/report.h"
#include "backends/process/supervisor/cause.h"
#include "backends/process/supervisor/launch/sandbox_handle.h"
#include "backends/process/supervisor/run.h"
#include "protocol/session.h"

struct run {
    int socket; /* -1 once the plugin has closed its end */
    struct sandbox_handle *process;
    uint32_t slot;
    bool unconfined;
    bool outlives_first; /* its tree does: nothing but its first process kills it */
    bool collects;       /* its files */
    bool ordered;        /* to end by itself: not killed yet */
    bool ready;          /* the program may have begun */
    bool started;
    bool unwatched; /* its end is looked for again and again */
    bool orphaned;  /* its subreaper was killed: its children are to be killed */
    bool tree_is_gone;
    struct tree_usage tree;  /* then */
    uint64_t peak_processes; /* as its init has counted; 0: it does not */
    uint64_t started_us;
    uint64_t deadline_us;
    struct run_limits limits;
    struct run_session session;
    struct waiting_clock waiting; /* for answers to its calls of tools */
    struct session_clock clock;   /* of a session that has started */
    uint32_t program;             /* the number of the interpreter whose cell is under way */
    bool awaits_init;             /* which was told to start another one, or to park a branch */
    bool restoring;               /* its init was told to undo the last cell, ... */
    enum run_cause restored_for;  /* ... for this reason; EXIT: the plugin wants it */
    struct run_evidence before;   /* the counts of the cells that were undone */
    bool has_checkpoints;         /* may have had: its init is told of each cell */
    struct run_evidence evidence;
    struct run_event event; /* ENDED, as it builds up */
};

/* run.c: where the run may have left files, its init kills the tree and lives on to hand them over.
 * One that does not say in time that the tree is gone is killed. */
void run_order_end(struct run *run, enum run_cause cause);
/* When its wall time is over; 0, never, for no limit and for one beyond the clock. */
uint64_t run_wall_deadline(const struct run *run);
/* The processor time of all its processes so far; false: nothing tells it. */
bool run_processor_time(const struct run *run, uint64_t *ret_us);

/* run_wait.c: calls of tools are open, or none is. */
void run_wait_order(struct run *run, bool waits);
/* A cell begins, and may wait so long. */
void run_wait_begin_cell(struct run *run, uint32_t limit_ms);
/* Its wall time is over, or that of its cell: has it spent some of that waiting, so that it goes
 * on? */
bool run_wait_goes_on(struct run *run);
/* That deadline, or a later one where it would come too soon for one that waits. */
uint64_t run_wait_pause(const struct run *run, uint64_t deadline_us);

/* From the control groups and that of the tree, into event and evidence. */
void run_read_usage(struct run *run, const struct tree_usage *tree);

/* run_session.c: of a session, an order of the plugin's, its deadline that is over,
 * REPORT_RESTORED, REPORT_PROGRAM, and REPORT_PARKED. */
void run_session_follow(struct run *run, const struct session_order *order,
                        const int fds[SESSION_PROGRAM_FDS], size_t fd_count);
void run_session_expire(struct run *run);
void run_session_restored(struct run *run, const struct report *report);
void run_session_added(struct run *run, const struct report *report);
void run_session_parked(struct run *run, const struct report *report);
