/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines this backend has met: where they are and what they can do. Runs in the docker
 * backend.
 */
#pragma once

#include "../../protocol/run_description.h"
#include "engine_facts.h"
#include "engine_http.h"
#include "owner.h"
#include "shelf.h"

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
struct oom_watch;

/* What all runs of the process share. */
struct docker_environment {
    struct engine_client *client;
    struct owner owner;
    char *seccomp[2]; /* without and with a network */
    struct engine engines[ENGINES_LIMIT];
    size_t engine_count;
    struct container *containers; /* all that were made and are not gone; owned */
    struct shelf shelves[SHELVES];
    uint64_t busy_us; /* when a run was last under way */
    bool closing;     /* what cannot be removed at the end is left to the next backend */
};

/* The engine that the description means; NULL with the fault. */
struct engine *engine_find(struct docker_environment *environment, const struct run_docker *docker,
                           struct engine_fault *fault);
/* While there is the client. */
void engine_clear_all(struct docker_environment *environment);
