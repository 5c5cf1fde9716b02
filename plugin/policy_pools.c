/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's pools: how many sandboxes of a mode are kept ready, and for how long after the last
 * call that wanted one. Pure code; runs in the gateway on the calling thread.
 */
#include "cleanup.h"
#include "policy_parse.h"

static bool parse_pool(const struct json_place *place, json_t *value, struct policy_pool *ret)
{
    static const char *const members[] = {"ready", "idle_ms", NULL};
    struct json_place ready_place = json_place_named(place, "ready");
    struct json_place idle_place = json_place_named(place, "idle_ms");
    int64_t ready;
    int64_t idle_ms;
    if (!json_read_known_members(place, value, members) ||
        !json_read_integer(&ready_place, json_object_get(value, "ready"), 0, RUN_POOL_LIMIT,
                           &ready) ||
        !json_read_integer(&idle_place, json_object_get(value, "idle_ms"), 1,
                           (int64_t)RUN_POOL_IDLE_LIMIT, &idle_ms))
        return false;
    *ret = (struct policy_pool){.ready = (uint32_t)ready, .idle_ms = (uint64_t)idle_ms};
    return true;
}

bool policy_parse_pools(const struct json_place *place, json_t *value, struct policy *policy)
{
    static const char *const members[] = {"docker", "process", NULL};
    struct json_place docker = json_place_named(place, "docker");
    struct json_place process = json_place_named(place, "process");
    return json_read_known_members(place, value, members) &&
           parse_pool(&docker, json_object_get(value, "docker"),
                      &policy->pools[SANDBOX_MODE_DOCKER]) &&
           parse_pool(&process, json_object_get(value, "process"),
                      &policy->pools[SANDBOX_MODE_PROCESS]);
}
