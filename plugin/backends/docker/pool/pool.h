/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers that were made, attested and started ahead of need, and wait at their bootstrap for
 * what they are to run. Each serves one run and is removed with it. Runs in the docker backend; one
 * is made when no run is in the way of it.
 */
#pragma once

#include "backends/docker/container/container.h"
#include "backends/docker/pool/warm_pool.h"
#include "protocol/pool_report.h"

/* One that waits and is what the run of that description needs, which has the job done by it from
 * now on; NULL where there is none. As many as the description says are kept ready from now on. */
struct container *pool_take(struct docker_environment *environment, struct engine *engine,
                            const struct run_description *description, const char *image_id,
                            struct container_job *job);

/* See struct container_events. */
void pool_put(struct container *container);
void pool_lose(struct container *container);

/* Makes one, if it is time. busy: runs are under way. */
void pool_fill(struct docker_environment *environment, bool busy, uint64_t now);
/* Empties what is idle. When to look again, 0: never. */
uint64_t pool_expire(struct docker_environment *environment, bool busy, uint64_t now);
/* What there is at this moment; an engine is not asked what it holds. */
void pool_count(const struct docker_environment *environment, struct pool_report *ret);
/* Nothing is kept any more. */
void pool_empty(struct docker_environment *environment);
