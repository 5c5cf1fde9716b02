/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to be kept ready: a warm pool for each template of container that runs ask for, and when
 * the next one for it may be made. Says nothing of the containers themselves, which are pool.c's.
 * Pure code; times are CLOCK_MONOTONIC in microseconds.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define WARM_POOLS 8

/* One is made after so long without a run, or after so long with always a run under way; and so
 * long after an attempt that went wrong. */
#define WARM_POOL_QUIET_US    (UINT64_C(100) * 1000)
#define WARM_POOL_PATIENCE_US (UINT64_C(500) * 1000)
#define WARM_POOL_RETRY_US    (UINT64_C(5) * 1000000)

struct engine;

struct warm_pool {
    struct engine *engine; /* whose containers; only compared */
    json_t *template; /* their configuration without labels, owned; NULL: the warm pool is free */
    uint32_t size;    /* wanted */
    uint32_t ready;
    uint32_t making;
    uint64_t idle_us;       /* unasked for so long it is to be emptied */
    uint64_t used_us;       /* when it was last asked for */
    uint64_t not_before_us; /* the next attempt */
    uint64_t short_us;      /* since when there are fewer than wanted, 0: there are not */
};

/* The warm pool of that template, NULL: there is none. */
struct warm_pool *warm_pool_find(struct warm_pool warm_pools[WARM_POOLS], struct engine *engine,
                                 const json_t *template);
/* A run of that template is made: as many as it says are wanted from now on. The warm pool, a new
 * one where there is none; NULL: nothing is wanted, or all warm pools are in use. */
struct warm_pool *warm_pool_demand(struct warm_pool warm_pools[WARM_POOLS], struct engine *engine,
                                   json_t *template, uint32_t size, uint64_t idle_us, uint64_t now);
/* Counts have changed. */
void warm_pool_count(struct warm_pool *warm_pool, uint64_t now);
/* When the next one may be made, 0: none is wanted. busy_us: when a run was last under way. */
uint64_t warm_pool_due(const struct warm_pool *warm_pool, uint64_t busy_us);
/* When it is to be emptied, unless it is asked for before; 0: it is free. */
uint64_t warm_pool_idle_time(const struct warm_pool *warm_pool);
/* It is empty: another template may have it. */
void warm_pool_clear(struct warm_pool *warm_pool);
