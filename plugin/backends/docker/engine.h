/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines this backend has met: where they are, what they can do, and the sweep of the
 * containers that dead owners left in them. Runs in the docker backend.
 */
#pragma once

#include "../../protocol/run_description.h"
#include "engine_facts.h"
#include "engine_http.h"
#include "owner.h"

#define ENGINES_LIMIT 8 /* addresses; operators have one */

struct engine {
    char text[RUN_ENGINE_LIMIT + 1]; /* as descriptions name it */
    struct engine_address address;
    struct engine_facts facts;
    bool known; /* facts hold until a call fails */
    bool swept;
};

/* What all runs of the process share. */
struct docker_environment {
    struct engine_client *client;
    struct owner owner;
    char *seccomp;
    struct engine engines[ENGINES_LIMIT];
    size_t engine_count;
};

/* The engine of that name; NULL with the fault. */
struct engine *engine_find(struct docker_environment *environment, const char *text,
                           struct engine_fault *fault);

/* Once for every engine: asks for containers of dead owners and removes them, beside whatever else
 * is going on. */
void engine_sweep(struct docker_environment *environment, struct engine *engine);
