/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend programs, from the gateway's side: found beside the .so, started on first use with
 * posix_spawn, given runs over their control socket, ended with it. The gateway keeps two
 * descriptors a backend (control socket, pidfd), both CLOEXEC, and no lasting child. Any thread;
 * the mutex is held while a backend starts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "policy/policy.h"
#include "protocol/backend_parts.h"
#include "protocol/pool_report.h"
#include "protocol/run_description.h"
#include "protocol/session.h"

/* What a run reads from, and what its endpoints are reached by. */
struct run_input_fds {
    int stdin_fd;
    const int *files; /* of the files by reference, in their order */
    size_t file_count;
    int endpoints_fd; /* RUN_FD_ENDPOINTS; -1: the run has none */
};

/* The caller's ends of one run. */
struct backend_run {
    int events; /* SOCK_SEQPACKET: struct run_event in, enum run_order out; closing it ends the run
                 */
    int stdout_fd; /* non-blocking read ends */
    int stderr_fd;
    int results_fd;      /* the same, of frames; -1: the run has none */
    int files_fd;        /* the same, of the run's files; -1: they are not collected */
    int tools_fd;        /* a stream socket for answers to calls of tools; -1: there are none */
    uint64_t generation; /* which start of the backend has the run */
};

#define BACKEND_RUN_EMPTY                                                                 \
    {                                                                                     \
        .events = -1, .stdout_fd = -1, .stderr_fd = -1, .results_fd = -1, .files_fd = -1, \
        .tools_fd = -1                                                                    \
    }

void backend_run_close(struct backend_run *run);

/* Is the program of that mode's backend there? false with error BACKEND_UNAVAILABLE. Starts
 * nothing. */
bool backend_exists(enum sandbox_mode mode, struct error *error);

/* Hands the run to the mode's backend, which is started when it is not running (once more when it
 * has died since). The descriptors stay the caller's. true and *ret, or false with
 * BACKEND_UNAVAILABLE or BACKEND_FAILED. */
bool backend_start_run(enum sandbox_mode mode, const struct run_description *description,
                       const struct run_input_fds *inputs, struct backend_run *ret,
                       struct error *error);

/* Hands a cell to the interpreter that waits on that socket (session.h). true and *ret, without
 * events; false with BACKEND_FAILED where there is none any more. */
bool backend_send_cell(int cells, const struct run_description *description,
                       const struct run_input_fds *inputs, struct backend_run *ret,
                       struct error *error);

/* Orders another interpreter of a session, on the events of its run (session.h). true and *ret, the
 * ends of its streams; false with BACKEND_FAILED or OUT_OF_MEMORY. */
bool backend_send_program(int events, const struct session_order *order,
                          const struct run_description *description, int stdin_fd,
                          struct backend_run *ret, struct error *error);

/* The message of a description in a sealed memfd: the backend reads the checked bytes. -1 with
 * BACKEND_FAILED or OUT_OF_MEMORY. */
int backend_describe(const struct run_description *description, struct error *error);
/* A pipe that is read here without waiting. 0, or -1 with BACKEND_FAILED. */
int backend_output_pipe(int *ret_read, int *ret_write, struct error *error);

/* The run's channel has closed without ENDED. If that is because its backend has ended, the next
 * run gets a new one. */
void backend_note_end(enum sandbox_mode mode, const struct backend_run *run);

/* Kills the backend that has this run, and with it all of its runs: it does not answer. The next
 * run gets a new one. Nothing where that has happened already. */
void backend_give_up(enum sandbox_mode mode, const struct backend_run *run);

enum pool_state {
    POOL_STOPPED,  /* the backend has not been started or has ended: nothing is ready */
    POOL_ANSWERED, /* *ret has what is ready at this moment */
    POOL_SILENT,   /* no good answer in time */
};

/* Asks the mode's backend for its ready sandboxes, and waits a quarter of a second at most. Starts
 * nothing and ends nothing. *ret is zero where it is stopped, and untouched where it is silent. */
enum pool_state backend_ask_pool(enum sandbox_mode mode, struct pool_report *ret);

/* The same for what the backend works with: *ret (backend_parts_clear()) where it has answered, and
 * untouched elsewhere. */
enum pool_state backend_ask_parts(enum sandbox_mode mode, struct backend_parts *ret);

/* Ends every backend with all its runs, and waits until they are gone (killed after 5 s). */
void backend_stop_all(void);

/* In a child of fork(): closes its copies of the parent's descriptors, which ends nothing, and
 * takes no lock. The next run starts a backend of the child's own. */
void backend_after_fork(void);
