/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what can be asked of the pool without a change to it: see pool.h. Runs in the supervisor. */
#include "backends/process/supervisor/pool/pool.h"

#include "base/cleanup.h"

struct shelf *pool_find(struct pool *pool, const struct sandbox_template *template)
{
    for (size_t i = 0; i < POOL_SHELVES; i++)
        if (pool->shelves[i].template.workspace != NULL &&
            sandbox_template_equal(&pool->shelves[i].template, template))
            return &pool->shelves[i];
    return NULL;
}

static bool shelf_has(const struct shelf *shelf, pid_t pid)
{
    for (const struct sandbox_handle *process = shelf->first; process; process = process->next)
        if (process->pid == pid)
            return true;
    return (shelf->trial && shelf->trial->pid == pid) ||
           (shelf->parent && shelf->parent->pid == pid) ||
           (shelf->successor && shelf->successor->pid == pid);
}

bool pool_has(const struct pool *pool, pid_t pid)
{
    for (size_t i = 0; i < POOL_SHELVES; i++)
        if (shelf_has(&pool->shelves[i], pid))
            return true;
    return false;
}

void pool_count(const struct pool *pool, struct pool_report *ret)
{
    *ret = (struct pool_report){.rows = {{.ready = 0}}};
    for (size_t i = 0; i < POOL_SHELVES; i++) {
        const struct shelf *shelf = &pool->shelves[i];
        struct pool_row *row = &ret->rows[pool_kind(shelf)];
        row->ready += shelf->count;
        row->wanted += shelf->size.wanted;
        row->memory_bytes += shelf->count * shelf->memory_bytes;
    }
}

void pool_tell(struct pool *pool, const struct sandbox_template *template,
               struct preparation_outcome *ret)
{
    const struct shelf *shelf = pool_find(pool, template);
    *ret = (struct preparation_outcome){.kind = PREPARATION_NONE};
    if (!shelf || template->interpreter.kind == RUN_INTERPRETER_NONE)
        return;
    ret->kind = PREPARATION_OPEN;
    if (shelf->without_interpreter || shelf->without_copying)
        *ret = shelf->outcome;
    else if (shelf->parent && shelf->parent->state == PARENT_WAITING)
        *ret = shelf->parent->outcome;
}
