/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's limits: their names and the ranges in which they mean something. Pure code; runs in
 * the gateway on the calling thread.
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
    {OF_RUN(memory_bytes), FROM_TO(16 * MIB, 64 * TIB)},
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

static bool parse_limit(const struct json_place *place, json_t *value, int64_t minimum,
                        int64_t maximum, struct policy_limit *ret)
{
    static const char *const members[] = {"default", "max", NULL};
    struct json_place default_place = json_place_named(place, "default");
    struct json_place max_place = json_place_named(place, "max");
    int64_t default_value;
    int64_t ceiling;

    if (!json_read_known_members(place, value, members) ||
        !json_read_integer(&default_place, json_object_get(value, "default"), minimum, maximum,
                           &default_value) ||
        !json_read_integer(&max_place, json_object_get(value, "max"), minimum, maximum, &ceiling))
        return false;
    if (default_value > ceiling)
        return json_place_refuse(&default_place, "is more than \"max\"");
    ret->default_value = (uint64_t)default_value;
    ret->maximum = (uint64_t)ceiling;
    return true;
}

/* A bound that is not given stays as it is. */
static bool read_bound(const struct json_place *place, const json_t *value, int64_t minimum,
                       int64_t maximum, uint64_t *bound)
{
    int64_t number;
    if (!value)
        return true;
    if (!json_read_integer(place, value, minimum, maximum, &number))
        return false;
    *bound = (uint64_t)number;
    return true;
}

static bool change_limit(const struct json_place *place, json_t *value, int64_t minimum,
                         int64_t maximum, struct policy_limit *limit)
{
    static const char *const members[] = {"default", "max", NULL};
    struct json_place default_place = json_place_named(place, "default");
    struct json_place max_place = json_place_named(place, "max");
    if (!json_read_known_members(place, value, members) ||
        !read_bound(&default_place, json_object_get(value, "default"), minimum, maximum,
                    &limit->default_value) ||
        !read_bound(&max_place, json_object_get(value, "max"), minimum, maximum, &limit->maximum))
        return false;
    if (limit->default_value <= limit->maximum)
        return true;
    return json_place_refuse(place, "the default of %llu is more than the max of %llu",
                             (unsigned long long)limit->default_value,
                             (unsigned long long)limit->maximum);
}

static bool read_known_limits(const struct json_place *place, const json_t *value)
{
    const char *names[COUNT_OF(limits) + 1] = {NULL};
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        names[i] = limits[i].name;
    return json_read_known_members(place, value, names);
}

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

static struct policy_limit *limit_at(struct policy_limits *of, size_t index)
{
    return (void *)((char *)of + limits[index].offset);
}

static bool change_limits(const struct json_place *place, const json_t *value,
                          struct policy_limits *ret)
{
    if (!value)
        return true;
    if (!read_known_limits(place, value))
        return false;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct json_place limit_place = json_place_named(place, limits[i].name);
        json_t *limit_json = json_object_get(value, limits[i].name);
        if (limit_json && !change_limit(&limit_place, limit_json, limits[i].minimum,
                                        limits[i].maximum, limit_at(ret, i)))
            return false;
    }
    return true;
}

bool policy_read_language_limits(const struct json_place *place, const json_t *value,
                                 struct policy_limits *ret)
{
    if (!change_limits(place, value, ret))
        return false;
    policy_bound_shapes(ret);
    return true;
}

bool policy_parse_limits(const struct json_place *place, json_t *value, struct policy *policy)
{
    if (!read_known_limits(place, value))
        return false;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct json_place limit_place = json_place_named(place, limits[i].name);
        if (!parse_limit(&limit_place, json_object_get(value, limits[i].name), limits[i].minimum,
                         limits[i].maximum, limit_at(&policy->limits, i)))
            return false;
    }
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

bool policy_parse_memory_total(const struct json_place *place, json_t *value, struct policy *policy)
{
    const struct policy_language *largest = largest_language(policy);
    uint64_t least = largest ? largest->limits.memory_bytes.default_value : 0;
    int64_t total;
    if (!value) {
        policy->memory_total_bytes = half_the_machine(least);
        return true;
    }
    if (!json_read_integer(place, value, 16 * MIB, 64 * TIB, &total))
        return false;
    if ((uint64_t)total < least)
        return json_place_refuse(place, "is less than the %llu bytes of one run of %s",
                                 (unsigned long long)least, largest->name);
    policy->memory_total_bytes = (uint64_t)total;
    return true;
}

/* The model chooses the shape of a call. */
static bool is_of_a_shape(size_t index)
{
    return limits[index].place == POLICY_LIMIT_OF_SHAPE;
}

static uint64_t maximum_at(const struct policy_limits *of, size_t index)
{
    return policy_limit_at(of, &limits[index])->maximum;
}

static bool read_known_ceilings(const struct json_place *place, const json_t *value)
{
    const char *names[COUNT_OF(limits) + 1] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        if (!is_of_a_shape(i))
            names[count++] = limits[i].name;
    return !value || json_read_known_members(place, value, names);
}

bool policy_read_ceilings(const struct json_place *place, json_t *value, struct policy_limits *ret)
{
    if (!read_known_ceilings(place, value))
        return false;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct json_place limit_place = json_place_named(place, limits[i].name);
        limit_at(ret, i)->maximum = UINT64_MAX;
        if (!read_bound(&limit_place, json_object_get(value, limits[i].name), limits[i].minimum,
                        limits[i].maximum, &limit_at(ret, i)->maximum))
            return false;
    }
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
