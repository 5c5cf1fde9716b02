/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the containers that wait: see pool.h. Runs in the docker backend. */
#include "backends/docker/pool/pool.h"

#include <string.h>
#include <time.h>

#include "backends/common/run_answer.h"
#include "backends/docker/container/container_config.h"
#include "base/cleanup.h"

#define MAKING_LIMIT      2 /* at one time, */
#define MAKING_LIMIT_BUSY 1 /* and beside runs */
/* Beyond the shelf's idle time: one that waits for longer is made anew, as its labels say after
 * which time nobody wants it. */
#define WAITING_LIMIT_S 3600

/* From the message to the bootstrap's last word; then there is still time to make another. */
#define TAKEN_LIMIT_US (UINT64_C(5) * 1000000)

static uint64_t waiting_limit_s(const struct shelf *shelf)
{
    return shelf->idle_us / 1000000 + WAITING_LIMIT_S;
}

static bool same_address(const struct engine_address *one, const struct engine_address *other)
{
    return strcmp(one->socket_path, other->socket_path) == 0 &&
           strcmp(one->base, other->base) == 0 &&
           strcmp(one->certificates, other->certificates) == 0;
}

/* Has it said or done anything since, of which nobody was told yet? */
static bool is_fit(struct container *container, const struct engine *engine)
{
    container_handle(container);
    if (!container->shelf)
        return false;
    if (same_address(&container->address, &engine->address))
        return true;
    container_leave(container);
    return false;
}

static struct container *oldest(const struct docker_environment *environment,
                                const struct shelf *shelf)
{
    struct container *found = NULL;
    for (struct container *container = environment->containers; container;
         container = container->next)
        if (container->shelf == shelf && container->ready &&
            (!found || container->made_us < found->made_us))
            found = container;
    return found;
}

/* A network is the run's own. */
static bool can_wait(const struct run_description *description)
{
    return description->purpose == RUN_PURPOSE_PROGRAM && !description->network;
}

static void take_off(struct container *container, uint64_t now)
{
    struct shelf *shelf = TAKE_POINTER(container->shelf);
    if (container->ready)
        shelf->ready--;
    else
        shelf->making--;
    container->ready = false;
    container->deadline_us = 0;
    shelf_count(shelf, now);
}

struct container *pool_take(struct docker_environment *environment, struct engine *engine,
                            const struct run_description *description, const char *image_id,
                            struct container_job *job)
{
    uint64_t now = monotonic_us();
    if (!can_wait(description))
        return NULL;
    json_auto_t *template = container_config_template(description, image_id, environment->seccomp);
    struct shelf *shelf =
        template ? shelf_demand(environment->shelves, engine, template, description->pool_size,
                                description->pool_idle_ms * 1000, now)
                 : NULL;
    struct container *container = NULL;
    while (shelf && description->pool_size > 0 && (container = oldest(environment, shelf)))
        if (is_fit(container, engine))
            break;
    if (!container)
        return NULL;
    take_off(container, now);
    container->job = job;
    container->deadline_us = now + TAKEN_LIMIT_US;
    return container;
}

void pool_put(struct container *container)
{
    struct shelf *shelf = container->shelf;
    container->ready = true;
    shelf->making--;
    shelf->ready++;
    container->deadline_us = monotonic_us() + waiting_limit_s(shelf) * 1000000;
}

void pool_lose(struct container *container)
{
    uint64_t now = monotonic_us();
    container->shelf->not_before_us = now + SHELF_RETRY_US;
    take_off(container, now);
}

static void make(struct docker_environment *environment, struct shelf *shelf, uint64_t now)
{
    json_t *config = container_config_waiting(shelf->template, &environment->owner,
                                              (int64_t)time(NULL), waiting_limit_s(shelf));
    if (config && container_make(environment, shelf->engine, config, NULL, shelf))
        shelf->making++;
    else
        shelf->not_before_us = now + SHELF_RETRY_US;
    shelf_count(shelf, now);
}

/* An engine that is not known is met by a run first. */
static bool can_be_made(const struct shelf *shelf)
{
    const struct engine *engine = shelf->engine;
    return engine && engine->known;
}

static bool is_full(const struct docker_environment *environment, bool busy)
{
    uint32_t making = 0;
    uint32_t all = 0;
    for (size_t i = 0; i < SHELVES; i++) {
        making += environment->shelves[i].making;
        all += environment->shelves[i].making + environment->shelves[i].ready;
    }
    return making >= (busy ? MAKING_LIMIT_BUSY : MAKING_LIMIT) || all >= RUN_POOL_LIMIT;
}

/* The shelf that is due first, and when; NULL: nothing is to be made. */
static struct shelf *next_shelf(struct docker_environment *environment, bool busy,
                                uint64_t *ret_due)
{
    struct shelf *found = NULL;
    for (size_t i = 0; i < SHELVES && !is_full(environment, busy); i++) {
        struct shelf *shelf = &environment->shelves[i];
        uint64_t due = shelf_due(shelf, environment->busy_us);
        if (due == 0 || !can_be_made(shelf) || (found && due >= *ret_due))
            continue;
        found = shelf;
        *ret_due = due;
    }
    return found;
}

void pool_fill(struct docker_environment *environment, bool busy, uint64_t now)
{
    uint64_t due = 0;
    if (busy)
        environment->busy_us = now;
    struct shelf *shelf = next_shelf(environment, busy, &due);
    if (shelf && due <= now)
        make(environment, shelf, now);
}

static void empty_shelf(struct docker_environment *environment, struct shelf *shelf)
{
    for (struct container *container = environment->containers; container;
         container = container->next)
        if (container->shelf == shelf)
            container_leave(container);
    shelf_clear(shelf);
}

uint64_t pool_expire(struct docker_environment *environment, bool busy, uint64_t now)
{
    uint64_t next = 0;
    uint64_t due = 0;
    for (size_t i = 0; i < SHELVES; i++) {
        struct shelf *shelf = &environment->shelves[i];
        uint64_t until = shelf_idle_time(shelf);
        if (until != 0 && until <= now)
            empty_shelf(environment, shelf);
        else if (until != 0 && (next == 0 || until < next))
            next = until;
    }
    if (next_shelf(environment, busy, &due) && (next == 0 || due < next))
        next = due;
    return next;
}

void pool_empty(struct docker_environment *environment)
{
    for (size_t i = 0; i < SHELVES; i++)
        if (environment->shelves[i].template)
            empty_shelf(environment, &environment->shelves[i]);
}

void pool_count(const struct docker_environment *environment, struct pool_report *ret)
{
    *ret = (struct pool_report){.rows = {{.ready = 0}}};
    for (size_t i = 0; i < SHELVES; i++) {
        const struct shelf *shelf = &environment->shelves[i];
        struct pool_row *row = &ret->rows[container_config_interpreter(shelf->template)];
        row->ready += shelf->ready;
        row->wanted += shelf->size;
    }
    for (size_t i = 0; i < RUN_INTERPRETER_COUNT; i++)
        if (ret->rows[i].ready > 0)
            ret->rows[i].memory_bytes = RUN_USAGE_UNKNOWN;
}
