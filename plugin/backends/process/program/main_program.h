/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one child whose end is the end of the run: forked, seen through its execve, waited for, with
 * every orphan reaped on the way. Shared by the init of a sandbox and the subreaper of an
 * unconfined run. Single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "backends/process/messages/report.h"
#include "backends/process/program/checkpoints.h"
#include "backends/process/program/supervision.h"
#include "protocol/session.h"

/* Another one of the same session. Its end is the end of the run as well. */
struct other_program {
    pid_t pid;
    int listener; /* of its filter */
};

#define OTHER_PROGRAMS_MOST (SESSION_PROGRAMS_MOST - 1)

struct main_program {
    pid_t pid;        /* 0 in the child */
    int start_report; /* child: where to report until execve, CLOEXEC; parent: its other end */
    int children;     /* parent: signalfd for SIGCHLD */
    int listener;     /* parent: of the child's filter, -1: it has not come */
    struct seccomp_notif *early_call; /* parent: made before the start was over, not answered */
    /* In the parent, the caller's to set: */
    bool is_filtered; /* the child sends its listener ahead of all else */
    /* The run's directory, with O_PATH, where the init makes the calls that change attributes
     * (attribute_calls.c); -1: programs make them. */
    int home;
    bool may_ask;                  /* the child to be ended (interpreter_protocol.h) */
    bool memory_is_counted;        /* by a control group, up to the end */
    int loadavg;                   /* single_process_fast_path_open(), -1: none */
    bool (*scratch_is_full)(void); /* NULL: it has none */
    const char *supervised; /* the run's directory, where its limits are supervised; or NULL */
    struct supervision supervision; /* then, from the start on */
    /* Takes an order to collect a cell's files from the socket. NULL: there are none. */
    void (*collect_cell)(struct main_program *program, int supervisor);
    /* Takes an order to start another program from the socket, and answers it. NULL: there is none.
     */
    void (*add_program)(struct main_program *program, int supervisor);
    struct other_program others[OTHER_PROGRAMS_MOST];
    size_t other_count;
    void (*note_files)(void); /* those that are there are told of */
    struct checkpoints
        checkpoints; /* in the parent, where the program is a session's interpreter */
};

/* Forks. In the parent SIGCHLD is blocked; in the child no signal is. 0, or -1 with errno. */
int main_program_fork(struct main_program *program);

/* Passes the start on to the supervisor, then waits for the end. true: *ret is the REPORT_ENDED,
 * still to be sent, with usage and tree_is_gone where the child was all there was and can do
 * nothing more. Ordered to end, it does not wait for the child, which goes on. false when the
 * supervisor closes its end or the start has failed. */
bool main_program_watch(struct main_program *program, int supervisor, struct report *ret);

/* Reports a failure of ours and exits. */
_Noreturn void main_program_fail(int report, enum run_failure failure, int error,
                                 const char *message);
