/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's events of processes that were killed for memory, as long as the backend has
 * something to do with that engine. State.OOMKilled is told only of a container that has ended;
 * these are told of one that goes on without the process. Runs in the docker backend.
 */
#pragma once

#include "backends/docker/engine/engine.h"

/* Begins to listen, unless it does already. Nothing depends on it: where it fails or the engine
 * ends it, the next run begins anew. */
void oom_watch_begin(struct docker_environment *environment, struct engine *engine);
/* Of every engine. */
void oom_watches_end(struct docker_environment *environment);
