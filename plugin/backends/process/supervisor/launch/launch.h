/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The birth of a run's first process: the init of a sandbox, or the subreaper of an unconfined run.
 * Runs in the supervisor.
 */
#pragma once

#include <sys/types.h>

#include "backends/process/messages/namespaces.h"
#include "backends/process/messages/sandbox_template.h"
#include "backends/process/messages/seccomp_program.h"
#include "backends/process/supervisor/cgroup/cgroup.h"
#include "backends/process/supervisor/fork_server/fork_server.h"
#include "protocol/channel.h"
#include "protocol/layers.h"
#include "protocol/run_description.h"

struct launch {
    const struct sandbox_template *template;
    const struct seccomp_filters *filters;
    const struct namespaces *outside; /* of the supervisor */
    uint32_t outer_uid;
    uint32_t outer_gid;
    struct cgroup *cgroup;
    struct fork_server *interpreter; /* of which the sandbox is a copy; NULL: a new one */
};

struct launched {
    pid_t pid;
    int pidfd;
    int report; /* to the first process; non-blocking use only */
};

/* Why a launch failed. */
struct launch_failure {
    enum isolation_layer layer; /* LAYER_COUNT: none of them */
    int error_number;
    const char *step; /* static */
};

/* Starts a sandbox's init and lets it go on: maps written, control group made. It then waits for
 * its run. 0 and *ret filled (the caller reaps pid and closes both), or -1 with *reterr filled and
 * nothing left behind. Never waits for the new process. */
int launch_sandbox(const struct launch *launch, struct launched *ret,
                   struct launch_failure *reterr);

/* The same for a subreaper, without any layer. The child takes what is secret in its copy of the
 * description; the descriptors stay the caller's. */
int launch_unconfined(struct run_description *description, const char *directory,
                      const int fds[RUN_FD_COUNT], struct launched *ret,
                      struct launch_failure *reterr);
