/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the sandboxes that are ready: see pool.h. Runs in the supervisor. */
#include "pool.h"

#include <signal.h>
#include <sys/epoll.h>

#include "../../cleanup.h"

#define RETRY_US (UINT64_C(1) * 1000000)

bool pool_open(struct pool *ret)
{
    ret->epoll = epoll_create1(EPOLL_CLOEXEC);
    return ret->epoll >= 0;
}

static bool is_used(const struct shelf *shelf)
{
    return shelf->shape.workspace != NULL;
}

static struct shelf *find_shelf(struct pool *pool, const struct sandbox_shape *shape)
{
    for (size_t i = 0; i < POOL_SHELVES; i++)
        if (is_used(&pool->shelves[i]) && sandbox_shape_equal(&pool->shelves[i].shape, shape))
            return &pool->shelves[i];
    return NULL;
}

/* The oldest, NULL where there is none. */
static struct first_process *take_first(struct shelf *shelf)
{
    struct first_process *process = shelf->first;
    if (!process)
        return NULL;
    shelf->first = TAKE_POINTER(process->next);
    shelf->count--;
    return process;
}

static void unwatch(const struct pool *pool, const struct first_process *process)
{
    (void)epoll_ctl(pool->epoll, EPOLL_CTL_DEL, process->report, NULL);
}

struct first_process *pool_take(struct pool *pool, const struct sandbox_shape *shape)
{
    struct shelf *shelf = find_shelf(pool, shape);
    if (!shelf || (shelf->first && first_process_stirs(shelf->first)))
        return NULL;
    struct first_process *process = take_first(shelf);
    if (process)
        unwatch(pool, process);
    return process;
}

static void discard(const struct pool *pool, struct first_process *process, struct leaving *leaving,
                    struct run_environment *environment)
{
    unwatch(pool, process);
    first_process_signal(process, SIGKILL);
    leaving_add(leaving, environment, process);
}

static void empty_shelf(struct pool *pool, struct shelf *shelf, struct leaving *leaving,
                        struct run_environment *environment)
{
    struct first_process *process;
    while ((process = take_first(shelf)))
        discard(pool, process, leaving, environment);
    sandbox_shape_clear(&shelf->shape);
    *shelf = (struct shelf){.count = 0};
}

/* NULL: all are in use, or there is no memory for its shape. */
static struct shelf *new_shelf(struct pool *pool, const struct sandbox_shape *shape)
{
    for (size_t i = 0; i < POOL_SHELVES; i++)
        if (!is_used(&pool->shelves[i]))
            return sandbox_shape_copy(shape, &pool->shelves[i].shape) ? &pool->shelves[i] : NULL;
    return NULL;
}

void pool_demand(struct pool *pool, const struct run_description *description, uint64_t now)
{
    const struct sandbox_shape shape = sandbox_shape_of(description);
    struct shelf *shelf = find_shelf(pool, &shape);
    /* What a workspace's path leads to may become another directory. */
    if (!shelf && description->pool_size > 0 && shape.workspace[0] == '\0')
        shelf = new_shelf(pool, &shape);
    if (!shelf)
        return;
    shelf->limits = description->limits;
    shelf->size = description->pool_size;
    shelf->idle_us = description->pool_idle_ms * 1000;
    shelf->used_us = now;
}

static struct shelf *short_shelf(struct pool *pool, bool busy, uint64_t now)
{
    uint32_t ready = 0;
    struct shelf *found = NULL;
    for (size_t i = 0; i < POOL_SHELVES; i++) {
        struct shelf *shelf = &pool->shelves[i];
        uint32_t wanted = busy ? (shelf->size + 1) / 2 : shelf->size;
        ready += shelf->count;
        if (shelf->count < wanted && now >= shelf->not_before_us)
            found = shelf;
    }
    return ready < RUN_POOL_LIMIT ? found : NULL;
}

bool pool_is_short(struct pool *pool, bool busy, uint64_t now)
{
    return short_shelf(pool, busy, now) != NULL;
}

static void put_last(struct shelf *shelf, struct first_process *process)
{
    struct first_process **place = &shelf->first;
    while (*place)
        place = &(*place)->next;
    *place = process;
    shelf->count++;
}

void pool_fill(struct pool *pool, struct run_environment *environment, bool busy, uint64_t now)
{
    struct shelf *shelf = short_shelf(pool, busy, now);
    struct launch_failure failure;
    if (!shelf)
        return;
    struct first_process *process = first_process_of_sandbox(environment, &shelf->shape, &failure);
    if (!process) {
        shelf->not_before_us = now + RETRY_US;
        return;
    }
    first_process_limit(process, &shelf->limits);
    /* Unwatched, it is still looked at before it is used. */
    struct epoll_event event = {.events = EPOLLIN};
    (void)epoll_ctl(pool->epoll, EPOLL_CTL_ADD, process->report, &event);
    put_last(shelf, process);
}

static void throw_away_what_stirs(const struct pool *pool, struct shelf *shelf,
                                  struct leaving *leaving, struct run_environment *environment,
                                  uint64_t now)
{
    for (uint32_t left = shelf->count; left > 0; left--) {
        struct first_process *process = take_first(shelf);
        if (!process)
            return;
        if (!first_process_stirs(process)) {
            put_last(shelf, process);
            continue;
        }
        discard(pool, process, leaving, environment);
        shelf->not_before_us = now + RETRY_US;
    }
}

void pool_handle(struct pool *pool, struct leaving *leaving, struct run_environment *environment,
                 uint64_t now)
{
    for (size_t i = 0; i < POOL_SHELVES; i++)
        throw_away_what_stirs(pool, &pool->shelves[i], leaving, environment, now);
}

/* Also what a failure has put off is looked at again. */
uint64_t pool_expire(struct pool *pool, struct leaving *leaving,
                     struct run_environment *environment, uint64_t now)
{
    uint64_t next = 0;
    for (size_t i = 0; i < POOL_SHELVES; i++) {
        struct shelf *shelf = &pool->shelves[i];
        if (!is_used(shelf))
            continue;
        uint64_t until = shelf->used_us + shelf->idle_us;
        if (until <= now) {
            empty_shelf(pool, shelf, leaving, environment);
            continue;
        }
        if (shelf->not_before_us > now && shelf->not_before_us < until)
            until = shelf->not_before_us;
        if (next == 0 || until < next)
            next = until;
    }
    return next;
}

void pool_empty(struct pool *pool, struct leaving *leaving, struct run_environment *environment)
{
    for (size_t i = 0; i < POOL_SHELVES; i++)
        if (is_used(&pool->shelves[i]))
            empty_shelf(pool, &pool->shelves[i], leaving, environment);
}

bool pool_has(const struct pool *pool, pid_t pid)
{
    for (size_t i = 0; i < POOL_SHELVES; i++)
        for (const struct first_process *process = pool->shelves[i].first; process;
             process = process->next)
            if (process->pid == pid)
                return true;
    return false;
}
