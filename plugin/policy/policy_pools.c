/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's pools: how many sandboxes of a mode are kept ready, and for how long after the last
 * call that wanted one. Pure code; runs in the gateway on the calling thread.
 */
#include "base/cleanup.h"
#include "policy/policy_parse.h"

#define MEMORY_LEAST (INT64_C(1) << 20)

static bool parse_common(const struct json_place *place, json_t *value, struct policy_pool *ret)
{
    struct json_place ready_place = json_place_named(place, "ready");
    struct json_place idle_place = json_place_named(place, "idle_ms");
    int64_t ready;
    int64_t idle_ms;
    if (!json_read_integer(&ready_place, json_object_get(value, "ready"), 0, RUN_POOL_LIMIT,
                           &ready) ||
        !json_read_integer(&idle_place, json_object_get(value, "idle_ms"), 1,
                           (int64_t)RUN_POOL_IDLE_LIMIT, &idle_ms))
        return false;
    *ret = (struct policy_pool){.ready = (uint32_t)ready, .idle_ms = (uint64_t)idle_ms};
    return true;
}

static bool parse_fixed(const struct json_place *place, json_t *value, struct policy_pool *ret)
{
    static const char *const members[] = {"ready", "idle_ms", NULL};
    return json_read_known_members(place, value, members) && parse_common(place, value, ret);
}

/* "most" below "ready" is no error: a policy with only "ready" has the default's "most". */
static bool parse_growing(const struct json_place *place, json_t *value, struct policy_pool *ret)
{
    static const char *const members[] = {"ready", "most", "memory_bytes", "idle_ms", NULL};
    struct json_place most_place = json_place_named(place, "most");
    struct json_place memory_place = json_place_named(place, "memory_bytes");
    struct policy_pool pool;
    int64_t most;
    int64_t memory;
    if (!json_read_known_members(place, value, members) || !parse_common(place, value, &pool) ||
        !json_read_integer(&most_place, json_object_get(value, "most"), 0, RUN_POOL_LIMIT, &most) ||
        !json_read_integer(&memory_place, json_object_get(value, "memory_bytes"), MEMORY_LEAST,
                           INT64_MAX, &memory))
        return false;
    pool.most = pool.ready == 0 || (uint32_t)most < pool.ready ? pool.ready : (uint32_t)most;
    pool.memory_bytes = (uint64_t)memory;
    *ret = pool;
    return true;
}

/* Those that isolate have a pool, under their names. */
bool policy_parse_pools(const struct json_place *place, json_t *value, struct policy *policy)
{
    const char *members[SANDBOX_MODE_COUNT + 1] = {NULL};
    size_t count = 0;
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++)
        if (sandbox_mode_row((enum sandbox_mode)i)->isolates)
            members[count++] = sandbox_mode_name((enum sandbox_mode)i);
    if (!json_read_known_members(place, value, members))
        return false;
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++) {
        const struct sandbox_mode_row *row = sandbox_mode_row((enum sandbox_mode)i);
        struct json_place pool = json_place_named(place, row->name);
        json_t *member = json_object_get(value, row->name);
        if (row->isolates &&
            !(row->pool_grows ? parse_growing : parse_fixed)(&pool, member, &policy->pools[i]))
            return false;
    }
    return true;
}
