/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sweep: removing the containers that dead owners left in an engine, beside whatever else is
 * going on there. Runs in the docker backend.
 */
#pragma once

#include "backends/docker/engine/engine.h"

struct sweep_result {
    struct engine_fault fault; /* problem NONE: the engine was asked */
    uint32_t removed;
    uint32_t left; /* strays that it would not remove */
};

/* Everything was asked and answered; result is valid during the call only. */
typedef void sweep_done(void *user, const struct sweep_result *result);

struct sweep;

/* Begins; NULL when out of memory. The sweep ends with done (NULL: nobody waits) and frees itself.
 */
struct sweep *sweep_start(struct docker_environment *environment, struct engine *engine,
                          sweep_done *done, void *user);
/* Whoever waited has gone; the sweep goes on. NULL is fine. */
void sweep_disown(struct sweep *sweep);
