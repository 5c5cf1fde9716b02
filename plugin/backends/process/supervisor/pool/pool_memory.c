/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the memory that ready sandboxes hold: see pool.h. Runs in the supervisor. */
#include "backends/process/supervisor/pool/pool.h"

static uint64_t smaller_of(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static uint64_t larger_of(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

uint64_t pool_memory_of_one(const struct warm_pool *warm_pool)
{
    static const uint64_t usual[RUN_INTERPRETER_COUNT] = {
        [RUN_INTERPRETER_NONE] = UINT64_C(1) << 20,
        [RUN_INTERPRETER_PYTHON] = UINT64_C(8) << 20,
        [RUN_INTERPRETER_NODE] = UINT64_C(48) << 20,
    };
    /* The least that is counted, because the first reader of a file is charged for it. */
    uint64_t least = warm_pool->first ? UINT64_MAX : 0;
    for (const struct sandbox_handle *process = warm_pool->first; process; process = process->next)
        least = smaller_of(least, cgroup_memory(&process->cgroup));
    return larger_of(least, usual[pool_kind(warm_pool)]);
}

uint64_t pool_held_memory(const struct pool *pool)
{
    uint64_t held = 0;
    for (size_t i = 0; i < WARM_POOLS; i++)
        held += pool->warm_pools[i].count * pool->warm_pools[i].memory_bytes;
    return held;
}

bool pool_has_memory_for(const struct pool *pool, const struct warm_pool *warm_pool)
{
    return warm_pool->count == 0 || pool->memory_limit == 0 ||
           pool_held_memory(pool) + warm_pool->memory_bytes <= pool->memory_limit;
}
