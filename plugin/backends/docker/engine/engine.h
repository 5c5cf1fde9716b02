/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines this backend has met: where they are and what they can do. Runs in the docker
 * backend.
 */
#pragma once

#include "backends/docker/engine/engine_facts.h"
#include "backends/docker/engine/engine_http.h"
#include "backends/docker/engine/owner.h"
#include "protocol/run_description.h"

#define ENGINES_LIMIT 8 /* addresses; operators have one */

struct engine {
    char *key; /* what descriptions say of it */
    struct engine_address address;
    struct engine_facts facts;
    bool known; /* facts hold until a call fails */
    bool swept;
    struct oom_watch *oom_watch; /* NULL: nobody listens */
};

struct container;
struct container_events;
struct oom_watch;
struct warm_pool;

/* What all runs of the process share. */
struct docker_environment {
    CURLM *client;
    struct owner owner;
    const char *seccomp[2]; /* without and with a network */
    struct engine engines[ENGINES_LIMIT];
    size_t engine_count;
    struct container *containers;          /* all that were made and are not gone; owned */
    const struct container_events *events; /* called by containers */
    struct warm_pool *warm_pools;          /* WARM_POOLS (warm_pool.h) */
    uint64_t busy_us;                      /* when a run was last under way */
    bool closing; /* what cannot be removed at the end is left to the next backend */
};

/* The engine that the description means; NULL with the fault. */
struct engine *engine_find(struct docker_environment *environment, const struct run_docker *docker,
                           struct engine_fault *fault);
/* After oom_watches_end(). */
void engine_clear_all(struct docker_environment *environment);
