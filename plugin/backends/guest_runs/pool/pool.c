/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the waiting containers: see pool.h. Runs in a backend of containers. */
#include "backends/guest_runs/pool/pool.h"

#include "backends/common/run_answer.h"
#include "base/cleanup.h"

#define MAKING_LIMIT      2 /* at one time, */
#define MAKING_LIMIT_BUSY 1 /* and beside runs */
/* Beyond the warm pool's idle time. A container that has waited for longer is replaced, because its
 * labels say until when an owner may use it. */
#define WAITING_LIMIT_S 3600

/* From the message to the program's start; after that there is still time to make another. */
#define TAKEN_LIMIT_US (UINT64_C(5) * 1000000)

static uint64_t waiting_limit_s(const struct warm_pool *warm_pool)
{
    return warm_pool->idle_us / 1000000 + WAITING_LIMIT_S;
}

/* false: it has failed since, or is at an address that the engine no longer has. */
static bool is_usable(struct container *container)
{
    container_handle(container);
    if (!container->warm_pool)
        return false;
    if (container->environment->provider->is_current(container))
        return true;
    container_leave(container);
    return false;
}

static struct container *find_oldest(const struct guest_environment *environment,
                                     const struct warm_pool *warm_pool)
{
    struct container *found = NULL;
    for (struct container *container = environment->containers; container;
         container = container->next)
        if (container->warm_pool == warm_pool && container->ready &&
            (!found || container->made_us < found->made_us))
            found = container;
    return found;
}

/* Waiting containers have no network and no endpoints, and no room for files by reference: a
 * template for each size would push out the others. */
bool pool_serves(const struct run_description *description)
{
    return description->purpose == RUN_PURPOSE_PROGRAM && !description->network &&
           !description->endpoints && !run_description_has_inputs(description);
}

static void take_out(struct container *container, uint64_t now)
{
    struct warm_pool *warm_pool = TAKE_POINTER(container->warm_pool);
    if (container->ready)
        warm_pool->ready--;
    else
        warm_pool->making--;
    container->ready = false;
    container->deadline_us = 0;
    warm_pool_count(warm_pool, now);
}

struct container *pool_take(struct guest_environment *environment, struct engine *engine,
                            const struct run_description *description, json_t *template,
                            struct container_job *job)
{
    uint64_t now = monotonic_us();
    struct warm_pool *warm_pool =
        warm_pool_demand(environment->warm_pools, engine, template, description->pool_size,
                         description->pool_idle_ms * 1000, now);
    struct container *container = NULL;
    while (warm_pool && description->pool_size > 0 &&
           (container = find_oldest(environment, warm_pool)))
        if (is_usable(container))
            break;
    if (!container)
        return NULL;
    take_out(container, now);
    container->job = job;
    container->held = true;
    container->deadline_us = now + TAKEN_LIMIT_US;
    return container;
}

void pool_bound(struct container *container)
{
    container->held = false;
    container->deadline_us = monotonic_us() + TAKEN_LIMIT_US;
    container->environment->events->waits(container->job->run);
    container_stream_handle(container);
}

/* Rather one that is not ready yet. */
struct container *pool_give_up(struct guest_environment *environment, const struct engine *engine)
{
    struct container *found = NULL;
    for (struct container *container = environment->containers; container;
         container = container->next)
        if (container->warm_pool && container->engine == engine && (!found || !container->ready))
            found = container;
    if (found)
        pool_lose(found);
    return found;
}

void pool_put(struct container *container)
{
    struct warm_pool *warm_pool = container->warm_pool;
    container->ready = true;
    warm_pool->making--;
    warm_pool->ready++;
    warm_pool->failures = 0;
    container->deadline_us = monotonic_us() + waiting_limit_s(warm_pool) * 1000000;
}

void pool_lose(struct container *container)
{
    uint64_t now = monotonic_us();
    warm_pool_fail(container->warm_pool, now);
    take_out(container, now);
}

static void make_container(struct guest_environment *environment, struct warm_pool *warm_pool,
                           uint64_t now)
{
    if (environment->provider->make_waiting(environment, warm_pool, waiting_limit_s(warm_pool)))
        warm_pool->making++;
    else
        warm_pool_fail(warm_pool, now);
    warm_pool_count(warm_pool, now);
}

/* The facts about an engine are a run's to ask for. */
static bool has_known_engine(const struct guest_environment *environment,
                             const struct warm_pool *warm_pool)
{
    return warm_pool->engine && environment->provider->is_known(warm_pool->engine);
}

static bool is_limit_reached(const struct guest_environment *environment, bool busy)
{
    uint32_t making = 0;
    uint32_t all = 0;
    for (size_t i = 0; i < WARM_POOLS; i++) {
        making += environment->warm_pools[i].making;
        all += environment->warm_pools[i].making + environment->warm_pools[i].ready;
    }
    return making >= (busy ? MAKING_LIMIT_BUSY : MAKING_LIMIT) || all >= RUN_POOL_LIMIT;
}

/* The warm pool that is due first, and when; NULL: none is to get a container. */
static struct warm_pool *next_warm_pool(struct guest_environment *environment, bool busy,
                                        uint64_t *ret_due)
{
    struct warm_pool *found = NULL;
    for (size_t i = 0; i < WARM_POOLS && !is_limit_reached(environment, busy); i++) {
        struct warm_pool *warm_pool = &environment->warm_pools[i];
        uint64_t due = warm_pool_due(warm_pool, environment->busy_us);
        if (due == 0 || !has_known_engine(environment, warm_pool) || (found && due >= *ret_due))
            continue;
        found = warm_pool;
        *ret_due = due;
    }
    return found;
}

void pool_fill(struct guest_environment *environment, bool busy, uint64_t now)
{
    uint64_t due = 0;
    if (busy)
        environment->busy_us = now;
    struct warm_pool *warm_pool = next_warm_pool(environment, busy, &due);
    if (warm_pool && due <= now)
        make_container(environment, warm_pool, now);
}

static void empty_warm_pool(struct guest_environment *environment, struct warm_pool *warm_pool)
{
    for (struct container *container = environment->containers; container;
         container = container->next)
        if (container->warm_pool == warm_pool)
            container_leave(container);
    warm_pool_clear(warm_pool);
}

uint64_t pool_expire(struct guest_environment *environment, bool busy, uint64_t now)
{
    uint64_t next = 0;
    uint64_t due = 0;
    for (size_t i = 0; i < WARM_POOLS; i++) {
        struct warm_pool *warm_pool = &environment->warm_pools[i];
        uint64_t until = warm_pool_idle_time(warm_pool);
        if (until != 0 && until <= now)
            empty_warm_pool(environment, warm_pool);
        else if (until != 0 && (next == 0 || until < next))
            next = until;
    }
    if (next_warm_pool(environment, busy, &due) && (next == 0 || due < next))
        next = due;
    return next;
}

void pool_empty(struct guest_environment *environment)
{
    for (size_t i = 0; i < WARM_POOLS; i++)
        if (environment->warm_pools[i].template)
            empty_warm_pool(environment, &environment->warm_pools[i]);
}

void pool_count(const struct guest_environment *environment, struct pool_report *ret)
{
    *ret = (struct pool_report){.rows = {{.ready = 0}}};
    for (size_t i = 0; i < WARM_POOLS; i++) {
        const struct warm_pool *warm_pool = &environment->warm_pools[i];
        struct pool_row *row = &ret->rows[environment->provider->interpreter(warm_pool->template)];
        row->ready += warm_pool->ready;
        row->wanted += warm_pool->size;
    }
    for (size_t i = 0; i < RUN_INTERPRETER_COUNT; i++)
        if (ret->rows[i].ready > 0)
            ret->rows[i].memory_bytes = RUN_USAGE_UNKNOWN;
}
