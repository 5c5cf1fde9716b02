/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers that were made and started ahead of need, and wait in their guest for
 * a run. Each serves one run and is removed with it. They are made when the backend is not busy.
 * Runs in a backend of containers.
 */
#pragma once

#include "backends/guest_runs/container/container.h"
#include "backends/guest_runs/pool/warm_pool.h"
#include "protocol/pool_report.h"

/* May a waiting container serve such a run? */
bool pool_serves(const struct run_description *description);
/* One made by that template; it has the job from now on, and nothing is sent to it before
 * pool_bound(). NULL: there is none. From now on as many are kept ready as the description says. */
struct container *pool_take(struct guest_environment *environment, struct engine *engine,
                            const struct run_description *description, json_t *template,
                            struct container_job *job);
/* It is its run's alone: judges it, and sends the message. */
void pool_bound(struct container *container);
/* One of that engine that waits for no run, or is on its way there, is in no warm pool any more,
 * and the caller's to remove. NULL: there is none. */
struct container *pool_give_up(struct guest_environment *environment, const struct engine *engine);

/* See struct container_events. */
void pool_put(struct container *container);
void pool_lose(struct container *container);

/* Makes a container, if one is due. busy: runs are under way. */
void pool_fill(struct guest_environment *environment, bool busy, uint64_t now);
/* Empties idle warm pools. When to look again, 0: never. */
uint64_t pool_expire(struct guest_environment *environment, bool busy, uint64_t now);
/* The counts of this moment, without asking the engine. */
void pool_count(const struct guest_environment *environment, struct pool_report *ret);
/* Empties all warm pools. */
void pool_empty(struct guest_environment *environment);
