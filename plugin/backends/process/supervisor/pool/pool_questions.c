/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the answers about the pool and its place: see pool.h. Runs in the supervisor. */
#include "backends/process/supervisor/pool/pool.h"

#include <errno.h>
#include <stdio.h>

#include "backends/common/run_answer.h"
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

/* What has become of the interpreter of that template so far. */
static void find_outcome(struct pool *pool, const struct sandbox_template *template,
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

/* The sweep of groups was the supervisor's first act. */
static void answer_sweep(const struct run_description *description, struct pool *pool,
                         struct run_event *ret)
{
    CLEANUP(sandbox_template_clear) struct sandbox_template template = {.workspace = NULL};
    const struct cgroup_base *base = &pool->environment->cgroups;
    if (description->isolation == RUN_ISOLATION_UNPRIVILEGED &&
        sandbox_template_of(description, &template))
        reaper_sweep(pool->reaper, template.scratch_directory);
    ret->swept = base->swept + pool->reaper->strays;
    ret->unswept = base->unswept;
}

/* Where runs have asked for such already it is theirs to say how many. */
static void answer_preparation(const struct run_description *description, struct pool *pool,
                               struct run_event *ret)
{
    CLEANUP(sandbox_template_clear) struct sandbox_template template = {.workspace = NULL};
    struct preparation_outcome outcome = {.kind = PREPARATION_NONE};
    if (!sandbox_template_of(description, &template)) {
        run_event_fail(ret, RUN_FAILURE_INTERNAL, ENOMEM, "no memory for the question");
        return;
    }
    if (description->isolation != RUN_ISOLATION_NONE) {
        if (!pool_find(pool, &template))
            pool_demand(pool, &template, description, monotonic_us());
        find_outcome(pool, &template, &outcome);
    }
    ret->preparation = outcome.kind;
    (void)snprintf(ret->message, sizeof(ret->message), "%s", outcome.detail);
}

bool pool_answer_question(struct pool *pool, const struct run_description *description,
                          struct run_event *ret)
{
    if (description->purpose != RUN_PURPOSE_SWEEP && description->purpose != RUN_PURPOSE_PREPARE)
        return false;
    ret->cause = RUN_CAUSE_EXIT;
    ret->exit_code = 0;
    if (description->purpose == RUN_PURPOSE_SWEEP)
        answer_sweep(description, pool, ret);
    else
        answer_preparation(description, pool, ret);
    return true;
}
