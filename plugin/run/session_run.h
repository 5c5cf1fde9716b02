/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox of a session as the gateway holds it (protocol/session.h), and the loop around one of
 * its cells. Runs on the thread inside tool_invoke(); between two calls nobody looks at it, and its
 * backend keeps its time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "protocol/checkpoint.h"
#include "protocol/session.h"
#include "run/backend_client.h"
#include "run/run.h"

struct session_run {
    enum sandbox_mode mode;
    struct backend_run backend;       /* the events; standard output and error of the last cell */
    int cells[SESSION_PROGRAMS_MOST]; /* the sockets that its interpreters wait on; -1: none */
    struct run_event started;
};

#define SESSION_RUN_EMPTY                                        \
    {                                                            \
        .backend = BACKEND_RUN_EMPTY, .cells = {-1, -1, -1, -1}, \
    }

/* Ends it, if it has not ended. */
void session_run_close(struct session_run *session);
/* Nothing of the last cell's output is read any more. */
void session_run_close_late(struct session_run *session);

/* Starts one. description: that of its first cell, of which the program, the files, the request's
 * variables and the limits of time are left out. endpoints_fd: RUN_FD_ENDPOINTS, or -1; borrowed.
 * true: *ret. false where it could not be had with
 * the backend's word in *ret_failed (failure is not NONE), or with error. */
bool session_run_start(enum sandbox_mode mode, const struct run_description *description,
                       int endpoints_fd, int cancel_fd, struct session_run *ret,
                       struct run_event *ret_failed, struct error *error);

/* Starts one more interpreter in it, with that number; description: that of its first cell. false
 * with the backend's word in *ret_failed (failure is not NONE), and the session is as it was; or
 * with error, and it is lost. */
bool session_run_add(struct session_run *session, uint32_t number,
                     const struct run_description *description, struct run_event *ret_failed,
                     struct error *error);

/* What the interpreter says of its cell, as the frames are read. */
struct cell_word {
    bool ended;
    int32_t exit_code;
    bool home_is_empty;              /* it has left no file, and need not be asked for any */
    enum checkpoint_word checkpoint; /* ahead of it; CHECKPOINT_WORD_COUNT: none is wanted */
};

enum session_state {
    SESSION_KEPT,
    SESSION_RESTORED, /* as before the cell, in which its interpreter has ended */
    SESSION_GONE,
};

/* Runs a cell in the interpreter of that number. late: takes what the last one's pipes still bring,
 * standard output and error; their hosts and ids do not count. word: filled by run->results as its
 * frames come. ret->ended is the end of the cell; of SESSION_GONE also that of the session, which
 * is closed then. false: it was lost with its backend. */
bool session_run_cell(struct session_run *session, uint32_t number, struct run *run,
                      const struct cell_word *word, struct run_stream late[2],
                      struct run_outcome *ret, enum session_state *ret_state, struct error *error);
