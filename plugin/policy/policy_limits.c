/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's limits: their names and the ranges in which they mean something; and its pools, how
 * many sandboxes of a mode are kept ready, and for how long after the last call that wanted one.
 * Pure code; runs in the gateway on the calling thread.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/cleanup.h"
#include "policy/policy_parse.h"
#include "request/request.h"

#define KIB (INT64_C(1) << 10)
#define MIB (INT64_C(1) << 20)
#define TIB (INT64_C(1) << 40)

/* The minima are what an interpreter needs to start at all. None is 0, which would mean "not
 * limited" in a run description, and "half of the machine's memory" to tmpfs. */
#define LIMIT(member) .name = #member, .offset = offsetof(struct policy_limits, member)
#define OF_RUN(member) \
    LIMIT(member), .place = POLICY_LIMIT_OF_RUN, .run_offset = offsetof(struct run_limits, member)
#define OF_GATEWAY(member)   LIMIT(member), .place = POLICY_LIMIT_OF_GATEWAY
#define OF_SHAPE(member)     LIMIT(member), .place = POLICY_LIMIT_OF_SHAPE
#define FROM_TO(least, most) .minimum = (least), .maximum = (most)

static const struct policy_limit_row limits[] = {
    {OF_RUN(wall_ms), FROM_TO(1, REQUEST_TIMEOUT_LIMIT)},
    {OF_SHAPE(sandbox_exec_wall_ms), FROM_TO(1, REQUEST_TIMEOUT_LIMIT)},
    {OF_RUN(cpu_ms), FROM_TO(1, REQUEST_TIMEOUT_LIMIT)},
    {OF_RUN(memory_bytes), FROM_TO(REQUEST_MEMORY_LEAST, REQUEST_MEMORY_LIMIT)},
    {OF_RUN(processes), FROM_TO(1, 4 << 20)},
    {OF_RUN(open_files), FROM_TO(16, 1 << 20)},
    {OF_RUN(file_bytes), FROM_TO(4 * KIB, 64 * TIB)},
    {OF_RUN(scratch_bytes), FROM_TO(64 * KIB, 64 * TIB)},
    {OF_RUN(scratch_inodes), FROM_TO(16, 1 << 30)},
    {OF_GATEWAY(stdout_bytes), FROM_TO(1 * KIB, 64 * MIB)},
    {OF_GATEWAY(stderr_bytes), FROM_TO(1 * KIB, 64 * MIB)},
    {OF_GATEWAY(output_total_bytes), FROM_TO(4 * KIB, 64 * TIB)},
};
static_assert(COUNT_OF(limits) <= POLICY_LIMITS_MOST, "POLICY_LIMITS_MOST");

const struct policy_limit_row *policy_limit_rows(size_t *ret_count)
{
    *ret_count = COUNT_OF(limits);
    return limits;
}

const struct policy_limit_row *policy_limit_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        if (strcmp(limits[i].name, name) == 0)
            return &limits[i];
    return NULL;
}

const struct policy_limit *policy_limit_at(const struct policy_limits *of,
                                           const struct policy_limit_row *row)
{
    return (const void *)((const char *)of + row->offset);
}

/* Default and maximum; of a language's own limit one of them may stay the policy's. */
static bool read_limit(const struct json_place *place, json_t *value,
                       const struct json_member *member, void *target)
{
    const struct json_member members[] = {
        {"default", &member_uint64, offsetof(struct policy_limit, default_value), member->minimum,
         member->maximum, .optional = member->optional},
        {"max", &member_uint64, offsetof(struct policy_limit, maximum), member->minimum,
         member->maximum, .optional = member->optional},
        {0},
    };
    const struct policy_limit *limit = target;
    struct json_place default_place = json_place_named(place, "default");
    if (!json_read_members(place, value, members, target))
        return false;
    if (limit->default_value <= limit->maximum)
        return true;
    if (!member->optional)
        return json_place_refuse(&default_place, "is more than \"max\"");
    return json_place_refuse(place, "the default of %llu is more than the max of %llu",
                             (unsigned long long)limit->default_value,
                             (unsigned long long)limit->maximum);
}

static struct policy_limit *limit_at(struct policy_limits *of, size_t index)
{
    return (void *)((char *)of + limits[index].offset);
}

/* The model chooses the shape of a call. */
static bool is_of_a_shape(size_t index)
{
    return limits[index].place == POLICY_LIMIT_OF_SHAPE;
}

/* The rows of the table as members that are read by that row. */
static bool read_rows(const struct json_place *place, json_t *value, const struct json_member *as,
                      bool with_shapes, struct policy_limits *ret)
{
    struct json_member members[COUNT_OF(limits) + 1] = {{0}};
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        if (with_shapes || !is_of_a_shape(i))
            members[count++] = (struct json_member){
                limits[i].name,    as->kind,          limits[i].offset + as->offset,
                limits[i].minimum, limits[i].maximum, .optional = as->optional};
    return json_read_members(place, value, members, ret);
}

static const struct json_kind limit_kind = {.read = read_limit};

static void lower(struct policy_limit *limit, uint64_t ceiling)
{
    if (limit->maximum > ceiling)
        limit->maximum = ceiling;
    if (limit->default_value > ceiling)
        limit->default_value = ceiling;
}

/* The model chooses the shape of a call, so the ceiling of one holds for the other. */
void policy_bound_shapes(struct policy_limits *bounded)
{
    lower(&bounded->sandbox_exec_wall_ms, bounded->wall_ms.maximum);
}

bool policy_read_limits(const struct json_place *place, json_t *value, void *object)
{
    static const struct json_member as = {.kind = &limit_kind};
    struct policy *policy = object;
    return read_rows(place, value, &as, true, &policy->limits);
}

bool policy_read_language_limits(const struct json_place *place, json_t *value, void *object)
{
    static const struct json_member as = {.kind = &limit_kind, .optional = true};
    struct policy_language *language = object;
    if (value && !read_rows(place, value, &as, true, &language->limits))
        return false;
    policy_bound_shapes(&language->limits);
    return true;
}

/* The language whose runs may have the most memory. */
static const struct policy_language *largest_language(const struct policy *policy)
{
    const struct policy_language *largest = NULL;
    for (size_t i = 0; i < policy->language_count; i++) {
        const struct policy_language *language = &policy->languages[i];
        if (!largest || language->limits.memory_bytes.default_value >
                            largest->limits.memory_bytes.default_value)
            largest = language;
    }
    return largest;
}

/* One run always fits, on however small a machine. */
static uint64_t half_the_machine(uint64_t least)
{
    struct sysinfo machine;
    if (sysinfo(&machine) != 0)
        return least;
    uint64_t half = (uint64_t)machine.totalram * machine.mem_unit / 2;
    return half > least ? half : least;
}

/* One that asks for more than all runs may have would wait for ever. */
static void bound_languages(struct policy *policy)
{
    for (size_t i = 0; i < policy->language_count; i++)
        lower(&policy->languages[i].limits.memory_bytes, policy->memory_total_bytes);
}

bool policy_read_memory_total(const struct json_place *place, json_t *value, void *object)
{
    struct policy *policy = object;
    const struct policy_language *largest = largest_language(policy);
    uint64_t least = largest ? largest->limits.memory_bytes.default_value : 0;
    int64_t total;
    if (!value) {
        policy->memory_total_bytes = half_the_machine(least);
    } else {
        if (!json_read_integer(place, value, REQUEST_MEMORY_LEAST, REQUEST_MEMORY_LIMIT, &total))
            return false;
        if ((uint64_t)total < least)
            return json_place_refuse(place, "is less than the %llu bytes of one run of %s",
                                     (unsigned long long)least, largest->name);
        policy->memory_total_bytes = (uint64_t)total;
    }
    bound_languages(policy);
    return true;
}

static uint64_t maximum_at(const struct policy_limits *of, size_t index)
{
    return policy_limit_at(of, &limits[index])->maximum;
}

bool policy_read_ceilings(const struct json_place *place, json_t *value, struct policy_limits *ret)
{
    static const struct json_member as = {
        .kind = &member_uint64, .offset = offsetof(struct policy_limit, maximum), .optional = true};
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        limit_at(ret, i)->maximum = UINT64_MAX;
    if (value && !read_rows(place, value, &as, false, ret))
        return false;
    ret->sandbox_exec_wall_ms.maximum = ret->wall_ms.maximum;
    return true;
}

bool policy_check_ceilings(const struct json_place *place, const struct policy *policy,
                           const struct policy_limits *ceilings)
{
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct json_place limit_place = json_place_named(place, limits[i].name);
        uint64_t ceiling = maximum_at(ceilings, i);
        uint64_t highest = maximum_at(&policy->limits, i);
        for (size_t j = 0; j < policy->language_count; j++)
            if (maximum_at(&policy->languages[j].limits, i) > highest)
                highest = maximum_at(&policy->languages[j].limits, i);
        if (ceiling != UINT64_MAX && ceiling > highest && !is_of_a_shape(i))
            return json_place_refuse(&limit_place, "is more than the policy's %llu",
                                     (unsigned long long)highest);
    }
    return true;
}

void policy_lower_limits(struct policy_limits *lowered, const struct policy_limits *ceilings)
{
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        lower(limit_at(lowered, i), maximum_at(ceilings, i));
}

#define AT(member) .offset = offsetof(struct policy_pool, member)
#define READY                                                 \
    {                                                         \
        "ready", &member_uint32, AT(ready), 0, RUN_POOL_LIMIT \
    }
#define IDLE_MS                                                                 \
    {                                                                           \
        "idle_ms", &member_uint64, AT(idle_ms), 1, (int64_t)RUN_POOL_IDLE_LIMIT \
    }

static const struct json_member fixed_pool[] = {READY, IDLE_MS, {0}};

static const struct json_member growing_pool[] = {
    READY,
    IDLE_MS,
    {"most", &member_uint32, AT(most), 0, RUN_POOL_LIMIT},
    {"memory_bytes", &member_uint64, AT(memory_bytes), 1 * MIB, INT64_MAX},
    {0},
};

/* A variant's are those of the mode that it stands for. */
static void give_variants_pools(struct policy *policy)
{
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++) {
        const struct sandbox_mode_row *row = sandbox_mode_row((enum sandbox_mode)i);
        enum sandbox_mode of;
        if (row->has_pool && row->variant_of && sandbox_mode_parse(row->variant_of->name, &of))
            policy->pools[i] = policy->pools[of];
    }
}

/* Each under the name of its mode. */
bool policy_read_pools(const struct json_place *place, json_t *value, void *object)
{
    struct policy *policy = object;
    struct json_member members[SANDBOX_MODE_COUNT + 1] = {{0}};
    size_t count = 0;
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++) {
        const struct sandbox_mode_row *row = sandbox_mode_row((enum sandbox_mode)i);
        if (row->has_pool && !row->variant_of)
            members[count++] = (struct json_member){
                row->name, &member_object, (size_t)i * sizeof(struct policy_pool),
                .members = row->pool_grows ? growing_pool : fixed_pool};
    }
    if (!json_read_members(place, value, members, policy->pools))
        return false;
    /* "most" below "ready" is no error: a policy with only "ready" has the default's "most". */
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++) {
        struct policy_pool *pool = &policy->pools[i];
        if (sandbox_mode_row((enum sandbox_mode)i)->pool_grows &&
            (pool->ready == 0 || pool->most < pool->ready))
            pool->most = pool->ready;
    }
    give_variants_pools(policy);
    return true;
}
