/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines this backend has met: where they are and what they can do. Runs in the docker
 * backend.
 */
#pragma once

#include "backends/docker/engine/engine_facts.h"
#include "backends/docker/engine/engine_http.h"
#include "backends/docker/engine/owner.h"
#include "backends/docker/messages/docker_messages.h"

#define ENGINES_LIMIT 8 /* addresses; operators have one */

struct engine {
    char *key; /* everything in a description that decides where the engine is */
    struct engine_address address;
    struct engine_facts facts;
    bool known; /* facts hold until a call fails */
    bool swept;
    struct docker_environment *environment;
    struct engine_call *oom_events; /* container/oom_watch.c; NULL: it does not listen */
};

struct container;
struct container_events;
struct image_store;
struct warm_pool;

/* Shared by all runs of the process. */
struct docker_environment {
    CURLM *client;
    struct owner owner;
    const char *seccomp[2]; /* without and with a network */
    struct engine engines[ENGINES_LIMIT];
    size_t engine_count;
    struct container *containers;          /* all that are not removed yet; owned */
    const struct container_events *events; /* called by containers */
    struct warm_pool *warm_pools;          /* WARM_POOLS (warm_pool.h) */
    struct image_store *images;            /* image/image_store.h */
    uint64_t busy_us;                      /* when a run was last under way */
    bool closing; /* containers that cannot be removed are left to the next backend */
};

/* The engine that the description names; NULL with the fault. */
struct engine *engine_find(struct docker_environment *environment,
                           const struct docker_options *options, struct engine_fault *fault);
void engine_clear_all(struct docker_environment *environment);
