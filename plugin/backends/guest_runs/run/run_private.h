/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inner to a run: its state, and the parts that its files, and the provider's, offer each other.
 * run_start.c has its beginning, run.c its life and the plugin's side. The questions before there
 * is a container are the provider's (struct guest_provider); container.h runs it afterwards.
 */
#pragma once

#include "backends/common/session_clock.h"
#include "backends/common/waiting_clock.h"
#include "backends/guest_runs/container/container.h"
#include "backends/guest_runs/run/run.h"
#include "protocol/run_description.h"
#include "protocol/run_event.h"
#include "protocol/session.h"

/* Part of what the provider has of it. */
struct run {
    struct guest_environment *environment;
    struct engine *engine;              /* NULL: not known yet */
    struct run_description description; /* without its secrets, once the message is made */
    int socket;                         /* -1: the plugin wants no answer */
    struct container_job job;           /* owned: pipes, message and inputs */
    uint64_t sent;                      /* bytes of the message, when last looked at */
    struct container *container;
    bool clearing; /* the container is one that was left over: first it is removed */
    bool killed;
    bool ordered;  /* to end in its container: that is not removed yet */
    bool answered; /* ENDED is sent; of the run only its files are left */
    bool over;
    int cells[SESSION_PROGRAMS_MOST]; /* of a session: where those of each program come */
    size_t cell_count;
    int added_cells;            /* of a further one, until it has started; -1 */
    struct session_clock clock; /* of a session that has started */
    bool is_measuring;          /* the guest was asked for the processor time, ... */
    bool measures_late;         /* ... of a session in a cell before this one */
    uint64_t asked_us;          /* ... then */
    bool has_first_look;        /* at the processor time, in this cell */
    struct guest_measure first_look;
    uint64_t usage_wanted_us; /* the plugin has asked then what the cell has spent; 0: it has not */
    struct waiting_clock waiting; /* for answers to calls of tools: of the run, or of its cell */
    bool has_open_calls;          /* as the plugin says */
    uint64_t closed_us;           /* since when that has ended which is counted; 0: it has not */
    bool is_restoring;            /* the guest was told to undo cells or to wake a branch, ... */
    enum run_cause restored_for;  /* ... for this reason; EXIT: the plugin wants it */
    bool is_restored;             /* it has, and the reason is still to be heard */
    bool is_parking;              /* the guest was told to put a branch to sleep */
    struct guest_end undone;      /* how the interpreter has ended */
    struct run_description cell;  /* under way: its message refers to it */
    enum run_cause kill_cause;
    uint64_t started_us;
    uint64_t deadline_us;
    struct run_event event; /* ENDED, as it builds up */
};

/* run.c */
/* Its engine is known. A container that the engine did not remove comes first, so that containers
 * cannot pile up unreported; then the provider goes on. */
void run_begin_on_engine(struct run *run);
/* Removes a container that nobody has; then the provider goes on. */
void run_remove_first(struct run *run, struct container *container);
void run_fail(struct run *run, enum run_failure failure, int error_number, const char *message);
void run_fail_engine(struct run *run, const struct engine_fault *fault);
/* The sweep that it is, is over. */
void run_conclude(struct run *run);

/* Removes its container. */
void run_kill(struct run *run, enum run_cause cause);
/* Ends it, in two steps where its guest can still say something. */
void run_order_end(struct run *run, enum run_cause cause);

/* run_session.c */
/* Takes its socket of cells. false: the run's command keeps no session. */
bool run_session_take(struct run *run, int fd);
void run_session_started(struct run *run);
/* Takes the plugin's next order. */
void run_take_order(struct run *run);
/* The sockets that the next cell may come from: none while a cell is being sent. */
size_t run_session_places(const struct run *run);
/* Takes the next cell, if one is there. */
void run_session_take_cell(struct run *run);
/* Its deadline has passed. */
void run_session_expire(struct run *run);
void run_session_clear(struct run *run);
/* One of its orders without a message. A guest that takes none ends the session. */
void run_tell_guest(struct run *run, char order);

/* run_tools.c */
/* Gives the broker of endpoints the other end of a socket for the program's connections, if it has
 * endpoints (run_endpoints.c). false with errno. */
bool run_endpoints_take(struct run *run, int intake);

/* Takes a copy of its socket of answers, if it has tools. false with errno, also if no runner of
 * ours begins its program: it could not use them. */
bool run_tools_take(struct run *run, int socket);
/* When its wall time is over; 0, never, for no limit and for one beyond the clock. */
uint64_t run_wall_deadline(const struct run *run);
/* Calls of tools are open, or none is. */
void run_wait_order(struct run *run, bool waits);
/* After the end of its wall time: was some of it spent waiting, or not measured yet? */
bool run_wait_goes_on(struct run *run);
/* Takes what the guest has measured. Returns the time since the last look that is not counted. */
uint64_t run_wait_measured(struct run *run, const struct guest_measure *measure);
/* Asks the guest for the measurement, one question at a time. */
void run_measure(struct run *run);
/* The next cell may spend so much time waiting. */
void run_wait_begin_cell(struct run *run, uint32_t limit_ms);
/* The cell is over or interrupted: nothing of its time is spent waiting from now on. */
void run_wait_forget(struct run *run);
/* Puts off the next look at a run that waits. */
uint64_t run_wait_pause(const struct run *run, uint64_t deadline_us);

/* cell_time.c */
/* The next cell has begun. */
void run_cell_begun(struct run *run, uint32_t tools_wait_ms);
/* Does its time go by? */
bool run_cell_has_time(const struct run *run);
/* Asks the guest how much processor time the cell has used, and takes the answer. false: there was
 * no question. */
void run_measure_cell(struct run *run);
bool run_cell_measured(struct run *run, const struct guest_measure *measure);
/* The plugin wants to know what the cell has spent. */
void run_cell_tell_usage(struct run *run);

/* cell_undo.c */
/* Sends the guest the order that undoes cells or wakes a branch. */
void run_begin_restore(struct run *run, enum run_cause cause, unsigned char order);
/* Orders the guest to undo so many. 0: the cell under way. */
void run_undo_cells(struct run *run, enum run_cause cause, uint32_t cells);
/* It does so, and the deadline has passed. */
void run_undo_expire(struct run *run);

/* session_branches.c */
/* Takes the plugin's order to put a branch to sleep, to wake or to end it. false: it is another
 * one. */
bool run_branch_order(struct run *run, const struct session_order *order);
