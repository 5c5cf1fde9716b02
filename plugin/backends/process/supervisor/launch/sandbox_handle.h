/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first process of a run as the supervisor holds it: the init of a sandbox, made for a run or
 * ready for one that is still to come, or the subreaper of an unconfined run. Runs in the
 * supervisor, single-threaded.
 */
#pragma once

#include <sys/types.h>

#include "backends/process/supervisor/fork_server/fork_server.h"
#include "backends/process/supervisor/launch/run_directory.h"
#include "backends/process/supervisor/launch/run_environment.h"
#include "protocol/channel.h"

struct sandbox_handle {
    struct sandbox_handle *next; /* in the list that it is in */
    pid_t pid;                   /* 0 once it is reaped */
    int pidfd;                   /* -1 once it is of no more use */
    int report;                  /* likewise */
    bool has_place;
    struct sandbox_place place;
    struct run_directory directory; /* of a run without a file view */
    struct cgroup cgroup;           /* version 0 of a subreaper */
    struct run_limits limits;       /* those of the group so far */
};

/* Makes a sandbox, which then makes itself ready; a copy of interpreter where one is given. NULL:
 * *reterr says why, and nothing is left. */
struct sandbox_handle *sandbox_handle_make(struct run_environment *environment,
                                           const struct sandbox_template *template,
                                           struct fork_server *interpreter,
                                           struct launch_failure *reterr);

/* Sets the limits of a sandbox's control group, where they are others than before. */
void sandbox_handle_limit(struct sandbox_handle *process, const struct run_limits *limits);

/* Gives a sandbox its run, and its init the streams of the run's files where they are collected.
 * *ret is the supervisor's part of the report on its isolation. 0, or -1
 * with errno: the sandbox cannot be used. EPIPE and ECONNRESET: it has ended, and its report may
 * say why. The descriptors stay the caller's. */
int sandbox_handle_give_run(struct sandbox_handle *process, const struct run_limits *limits,
                            bool collects, const int fds[RUN_FD_COUNT],
                            struct isolation_report *ret);

struct sandbox_handle *sandbox_handle_make_unconfined(struct run_environment *environment,
                                                      struct run_description *description,
                                                      const int fds[RUN_FD_COUNT],
                                                      struct launch_failure *reterr);

/* Of no process yet. NULL: no memory. */
struct sandbox_handle *sandbox_handle_new(void);

void sandbox_handle_signal(const struct sandbox_handle *process, int signal);
/* Of one that nobody waits for any more, before its end of the socket is closed (reaper.h). One of
 * namespaces is killed, and dies with its first process. Any other first process must live, to kill
 * its tree and reap it: that end tells it to. */
void sandbox_handle_discard(const struct sandbox_handle *process);
/* Has it sent anything, or ended? */
bool sandbox_handle_stirs(const struct sandbox_handle *process);
/* Frees one that is reaped and has neither a group nor what a program has written any more. */
void sandbox_handle_free(struct run_environment *environment, struct sandbox_handle *process);
