/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the questions that do not change the pool: see pool.h. Runs in the supervisor. */
#include "backends/process/supervisor/pool/pool.h"

#include "base/cleanup.h"

struct warm_pool *pool_find(struct pool *pool, const struct sandbox_template *template)
{
    for (size_t i = 0; i < WARM_POOLS; i++)
        if (pool->warm_pools[i].template.workspace &&
            sandbox_template_equal(&pool->warm_pools[i].template, template))
            return &pool->warm_pools[i];
    return NULL;
}

static bool warm_pool_has(const struct warm_pool *warm_pool, pid_t pid)
{
    for (const struct sandbox_handle *process = warm_pool->first; process; process = process->next)
        if (process->pid == pid)
            return true;
    return (warm_pool->trial && warm_pool->trial->pid == pid) ||
           (warm_pool->fork_server && warm_pool->fork_server->pid == pid) ||
           (warm_pool->successor && warm_pool->successor->pid == pid);
}

bool pool_has(const struct pool *pool, pid_t pid)
{
    for (size_t i = 0; i < WARM_POOLS; i++)
        if (warm_pool_has(&pool->warm_pools[i], pid))
            return true;
    return false;
}

void pool_count(const struct pool *pool, struct pool_report *ret)
{
    *ret = (struct pool_report){.rows = {{.ready = 0}}};
    for (size_t i = 0; i < WARM_POOLS; i++) {
        const struct warm_pool *warm_pool = &pool->warm_pools[i];
        struct pool_row *row = &ret->rows[pool_kind(warm_pool)];
        row->ready += warm_pool->count;
        row->wanted += warm_pool->size.wanted;
        row->memory_bytes += warm_pool->count * warm_pool->memory_bytes;
    }
}

void pool_tell(struct pool *pool, const struct sandbox_template *template,
               struct preparation_outcome *ret)
{
    const struct warm_pool *warm_pool = pool_find(pool, template);
    *ret = (struct preparation_outcome){.kind = PREPARATION_NONE};
    if (!warm_pool || template->interpreter.kind == RUN_INTERPRETER_NONE)
        return;
    ret->kind = PREPARATION_OPEN;
    if (warm_pool->without_interpreter || warm_pool->without_copying)
        *ret = warm_pool->outcome;
    else if (warm_pool->fork_server && warm_pool->fork_server->state == FORK_SERVER_WAITING)
        *ret = warm_pool->fork_server->outcome;
}
