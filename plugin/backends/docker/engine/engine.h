/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines this backend has met: where they are and what they can do. Runs in the docker
 * backend.
 */
#pragma once

#include "backends/docker/engine/engine_facts.h"
#include "backends/docker/engine/engine_http.h"
#include "backends/docker/messages/docker_messages.h"
#include "backends/guest_runs/container/container.h"
#include "backends/guest_runs/container/owner.h"

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

struct image_store;

/* Shared by all runs of the process. */
struct docker_environment {
    struct guest_environment guests; /* the first member */
    CURLM *client;
    struct owner owner;
    const char *seccomp[2]; /* without and with a network */
    struct engine engines[ENGINES_LIMIT];
    size_t engine_count;
    struct image_store *images; /* image/image_store.h */
};

/* The whole of which that is a part: every one here is. */
struct docker_environment *docker_environment(struct guest_environment *guests);

/* The engine that the description names; NULL with the fault. */
struct engine *engine_find(struct docker_environment *environment,
                           const struct docker_options *options, struct engine_fault *fault);
void engine_clear_all(struct docker_environment *environment);
