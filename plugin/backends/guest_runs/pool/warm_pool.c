/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the decision what to keep ready: see warm_pool.h. */
#include "backends/guest_runs/pool/warm_pool.h"

#include <stddef.h>

struct warm_pool *warm_pool_find(struct warm_pool warm_pools[WARM_POOLS], struct engine *engine,
                                 const json_t *template)
{
    for (size_t i = 0; i < WARM_POOLS; i++)
        if (warm_pools[i].template && warm_pools[i].engine == engine &&
            json_equal(warm_pools[i].template, template))
            return &warm_pools[i];
    return NULL;
}

struct warm_pool *warm_pool_demand(struct warm_pool warm_pools[WARM_POOLS], struct engine *engine,
                                   json_t *template, uint32_t size, uint64_t idle_us, uint64_t now)
{
    struct warm_pool *warm_pool = warm_pool_find(warm_pools, engine, template);
    for (size_t i = 0; i < WARM_POOLS && !warm_pool && size > 0; i++) {
        if (warm_pools[i].template)
            continue;
        warm_pool = &warm_pools[i];
        *warm_pool = (struct warm_pool){.engine = engine, .template = json_incref(template)};
    }
    if (!warm_pool)
        return NULL;
    warm_pool->size = size;
    warm_pool->idle_us = size > 0 ? idle_us : 0;
    warm_pool->used_us = now;
    warm_pool_count(warm_pool, now);
    return warm_pool;
}

void warm_pool_fail(struct warm_pool *warm_pool, uint64_t now)
{
    uint64_t pause = WARM_POOL_RETRY_US;
    for (uint32_t i = 0; i < warm_pool->failures && pause < WARM_POOL_RETRY_LIMIT_US; i++)
        pause *= 2;
    warm_pool->failures++;
    warm_pool->not_before_us =
        now + (pause < WARM_POOL_RETRY_LIMIT_US ? pause : WARM_POOL_RETRY_LIMIT_US);
}

void warm_pool_count(struct warm_pool *warm_pool, uint64_t now)
{
    if (warm_pool->ready + warm_pool->making >= warm_pool->size)
        warm_pool->short_us = 0;
    else if (warm_pool->short_us == 0)
        warm_pool->short_us = now;
}

uint64_t warm_pool_due(const struct warm_pool *warm_pool, uint64_t busy_us)
{
    if (!warm_pool->template || warm_pool->short_us == 0)
        return 0;
    uint64_t patient = warm_pool->short_us + WARM_POOL_PATIENCE_US;
    uint64_t quiet = busy_us + WARM_POOL_QUIET_US;
    uint64_t due = quiet < patient ? quiet : patient;
    return due > warm_pool->not_before_us ? due : warm_pool->not_before_us;
}

uint64_t warm_pool_idle_time(const struct warm_pool *warm_pool)
{
    return warm_pool->template ? warm_pool->used_us + warm_pool->idle_us : 0;
}

void warm_pool_clear(struct warm_pool *warm_pool)
{
    json_decref(warm_pool->template);
    *warm_pool = (struct warm_pool){.engine = NULL};
}
