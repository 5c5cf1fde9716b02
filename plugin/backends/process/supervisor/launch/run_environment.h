/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resources that all runs of a supervisor share: filters, the base of their control groups,
 * users of the host. Runs in the supervisor, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backends/process/messages/namespaces.h"
#include "backends/process/messages/sandbox_template.h"
#include "backends/process/supervisor/cgroup/cgroup.h"
#include "backends/process/supervisor/filter/seccomp_filter.h"
#include "backends/process/supervisor/launch/host_ids.h"
#include "protocol/layers.h"

/* Sandboxes that there can be at once: in use, ready, and on their way out. */
#define SANDBOXES_LIMIT 2048

struct run_environment {
    struct seccomp_filters filters;
    struct cgroup_base cgroups;
    struct host_ids host_ids;
    bool namespaces_known; /* false: could not be found out this time */
    struct namespaces namespaces;
    uint32_t first_outer_uid;     /* random offset in the range of a description */
    bool places[SANDBOXES_LIMIT]; /* taken by a sandbox; by that its user is told from others' */
    uint64_t groups_made;         /* the names of their control groups */
};

/* Why there is no sandbox. */
struct launch_failure {
    enum isolation_layer layer; /* LAYER_COUNT: none of them */
    int error_number;
    const char *step; /* static */
};

/* Fills it; returns -1. */
int launch_fail(struct launch_failure *reterr, enum isolation_layer layer, int error_number,
                const char *step);

/* A place for a sandbox, and its user and group on the host. */
struct sandbox_place {
    uint32_t number; /* below SANDBOXES_LIMIT */
    uint32_t uid;
    uint32_t gid;
};

/* Makes what is available. false: without random numbers nothing can be served. */
bool run_environment_open(struct run_environment *ret);

/* Retries what failed before, as a failure need not last. false: the supervisor's namespaces, with
 * which a sandbox compares its own, are unknown. */
bool run_environment_complete(struct run_environment *environment, struct launch_failure *reterr);

/* A place with another user than every other sandbox's where that can be had (attacks on one by
 * another, and the limits the kernel counts by user, stay apart), else with the supervisor's own.
 * false: there is none, or it could not be found out. It is given back by its number. */
bool run_environment_take_place(struct run_environment *environment,
                                const struct sandbox_template *template, struct sandbox_place *ret,
                                struct launch_failure *reterr);
void run_environment_give_place(struct run_environment *environment, uint32_t number);
