/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to keep ready: a warm pool for each template of container that runs ask for, and when its
 * next container may be made. The containers themselves are pool.c's. Pure code; times are
 * CLOCK_MONOTONIC in microseconds.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#define WARM_POOLS 8

/* A container is made after this long without a run, */
#define WARM_POOL_QUIET_US (UINT64_C(100) * 1000)
/* or after this long with too few, however busy the backend is; */
#define WARM_POOL_PATIENCE_US (UINT64_C(500) * 1000)
/* and not before this long after a failure, doubled with each that follows one, */
#define WARM_POOL_RETRY_US (UINT64_C(5) * 1000000)
/* up to this. */
#define WARM_POOL_RETRY_LIMIT_US (UINT64_C(60) * 1000000)

struct engine;

struct warm_pool {
    struct engine *engine; /* whose containers; only compared */
    json_t *template; /* their configuration without labels, owned; NULL: the warm pool is free */
    uint32_t size;    /* wanted */
    uint32_t ready;
    uint32_t making;
    uint32_t failures;      /* since one was ready */
    uint64_t idle_us;       /* it is emptied after this long without a demand */
    uint64_t used_us;       /* the last demand */
    uint64_t not_before_us; /* the next attempt */
    uint64_t short_us;      /* since when there are fewer than wanted, 0: there are enough */
};

/* The warm pool of that template, NULL: there is none. */
struct warm_pool *warm_pool_find(struct warm_pool warm_pools[WARM_POOLS], struct engine *engine,
                                 const json_t *template);
/* For a run with that template: size containers are wanted from now on. The warm pool, a new one
 * where there is none; NULL: none is wanted, or all warm pools are in use. */
struct warm_pool *warm_pool_demand(struct warm_pool warm_pools[WARM_POOLS], struct engine *engine,
                                   json_t *template, uint32_t size, uint64_t idle_us, uint64_t now);
/* One was lost, or could not be made. */
void warm_pool_fail(struct warm_pool *warm_pool, uint64_t now);
/* To be called when ready or making has changed. */
void warm_pool_count(struct warm_pool *warm_pool, uint64_t now);
/* When the next container may be made, 0: none is wanted. busy_us: when a run was last under way.
 */
uint64_t warm_pool_due(const struct warm_pool *warm_pool, uint64_t busy_us);
/* When it is to be emptied, unless there is a demand before; 0: it is free. */
uint64_t warm_pool_idle_time(const struct warm_pool *warm_pool);
/* Frees it for another template; it must be empty. */
void warm_pool_clear(struct warm_pool *warm_pool);
