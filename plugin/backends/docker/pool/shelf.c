/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the decision what is kept ready: see shelf.h. */
#include "backends/docker/pool/shelf.h"

#include <stddef.h>

struct shelf *shelf_find(struct shelf shelves[SHELVES], struct engine *engine,
                         const json_t *template)
{
    for (size_t i = 0; i < SHELVES; i++)
        if (shelves[i].template && shelves[i].engine == engine &&
            json_equal(shelves[i].template, template))
            return &shelves[i];
    return NULL;
}

static struct shelf *free_shelf(struct shelf shelves[SHELVES])
{
    for (size_t i = 0; i < SHELVES; i++)
        if (!shelves[i].template)
            return &shelves[i];
    return NULL;
}

struct shelf *shelf_demand(struct shelf shelves[SHELVES], struct engine *engine, json_t *template,
                           uint32_t size, uint64_t idle_us, uint64_t now)
{
    struct shelf *shelf = shelf_find(shelves, engine, template);
    if (!shelf && size > 0) {
        shelf = free_shelf(shelves);
        if (shelf)
            *shelf = (struct shelf){.engine = engine, .template = json_incref(template)};
    }
    if (!shelf)
        return NULL;
    shelf->size = size;
    shelf->idle_us = size > 0 ? idle_us : 0;
    shelf->used_us = now;
    shelf_count(shelf, now);
    return shelf;
}

void shelf_count(struct shelf *shelf, uint64_t now)
{
    if (shelf->ready + shelf->making >= shelf->size)
        shelf->short_us = 0;
    else if (shelf->short_us == 0)
        shelf->short_us = now;
}

uint64_t shelf_due(const struct shelf *shelf, uint64_t busy_us)
{
    if (!shelf->template || shelf->short_us == 0)
        return 0;
    uint64_t patient = shelf->short_us + SHELF_PATIENCE_US;
    uint64_t quiet = busy_us + SHELF_QUIET_US;
    uint64_t due = quiet < patient ? quiet : patient;
    return due > shelf->not_before_us ? due : shelf->not_before_us;
}

uint64_t shelf_idle_time(const struct shelf *shelf)
{
    return shelf->template ? shelf->used_us + shelf->idle_us : 0;
}

void shelf_clear(struct shelf *shelf)
{
    json_decref(shelf->template);
    *shelf = (struct shelf){.engine = NULL};
}
