/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first process of a run as the supervisor holds it: the init of a sandbox, made for a run or
 * ready for one that is still to come, or the keeper of an unconfined run. Runs in the supervisor,
 * single-threaded.
 */
#pragma once

#include "backends/process/supervisor/launch/launch.h"
#include "backends/process/supervisor/launch/run_environment.h"

struct first_process {
    struct first_process *next; /* in the list that it is in */
    pid_t pid;                  /* 0 once it is reaped */
    int pidfd;                  /* -1 once it is of no more use */
    int report;                 /* likewise */
    bool has_place;
    uint32_t place; /* see run_environment_take_place() */
    uint32_t outer_uid;
    uint32_t outer_gid;
    struct cgroup cgroup;     /* version 0 of a keeper */
    struct run_limits limits; /* those of the group so far */
};

/* Makes a sandbox, which then makes itself ready; of shape's interpreter where one is given that is
 * to be copied. run_waits: with what is in stock. NULL: *reterr says why, and nothing is left. */
struct first_process *first_process_of_sandbox(struct run_environment *environment,
                                               const struct sandbox_shape *shape,
                                               struct interpreter_parent *interpreter,
                                               bool run_waits, struct launch_failure *reterr);

/* Sets the limits of a sandbox's control group, where they are others than before. */
void first_process_limit(struct first_process *process, const struct run_limits *limits);

/* Gives a sandbox its run. *ret is what the supervisor itself has applied. 0, or -1 with errno:
 * then the sandbox is of no use; EPIPE and ECONNRESET where it has ended, and its report may say
 * why. The descriptors stay the caller's. */
int first_process_give_run(struct first_process *process, const struct run_limits *limits,
                           const int fds[RUN_FD_COUNT], struct isolation_report *ret);

struct first_process *first_process_of_unconfined(struct run_description *description,
                                                  const char *directory,
                                                  const int fds[RUN_FD_COUNT],
                                                  struct launch_failure *reterr);

void first_process_signal(const struct first_process *process, int signal);
/* Has it said or done something? */
bool first_process_stirs(const struct first_process *process);
/* Of one that is reaped and has no group any more. */
void first_process_free(struct run_environment *environment, struct first_process *process);
