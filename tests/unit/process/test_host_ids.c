/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranges of ids the maps of user namespaces hold. */
#include "backends/process/supervisor/launch/host_ids.h"

#include "base/cleanup.h"
#include "tap_suite.h"

static const struct {
    const char *lines[3];
    uint32_t first;
    uint32_t count;
    bool covers;
} cases[] = {
    {{"         0          0 4294967295\n"}, 2000000000, 65536, true},
    {{"0 0 4294967295"}, UINT32_MAX - 1, 1, true},
    {{"0 0 4294967295"}, UINT32_MAX - 1, 2, false},
    {{"0 100000 65536"}, 2000000000, 65536, false},
    {{"0 100000 65536"}, 1, 65535, true},
    {{"0 100000 65536"}, 1, 65536, false},
    {{"0 100000 65536"}, 65535, 1, true},
    {{"0 100000 65536"}, 65536, 1, false},
    {{"0 1000 1"}, 1, 1, false},
    {{"20 0 10", "0 30 10", "10 40 10"}, 5, 25, true},
    {{"20 0 10", "0 30 10", "10 40 10"}, 5, 26, false},
    {{"20 0 10", "0 30 10", "11 40 9"}, 5, 10, false},
    {{NULL}, 1, 1, false},
};

START_TEST(ranges)
{
    struct id_map map = {.count = 0};
    for (size_t i = 0; i < COUNT_OF(cases[_i].lines) && cases[_i].lines[i]; i++)
        ck_assert(id_map_add(&map, cases[_i].lines[i]));
    ck_assert_int_eq(id_map_covers(&map, cases[_i].first, cases[_i].count), cases[_i].covers);
}
END_TEST

START_TEST(lines_that_are_none)
{
    struct id_map map = {.count = 0};
    ck_assert(!id_map_add(&map, ""));
    ck_assert(!id_map_add(&map, "0 0"));
    for (size_t i = 0; i < ID_EXTENTS_LIMIT; i++)
        ck_assert(id_map_add(&map, "0 0 1"));
    ck_assert(!id_map_add(&map, "0 0 1"));
}
END_TEST

/* Both maps and the right to map others are needed. */
START_TEST(all_three_are_needed)
{
    static struct host_ids ids;
    (void)id_map_add(&ids.users, "0 0 100");
    (void)id_map_add(&ids.groups, "0 0 50");
    ids.may_map_others = true;
    ck_assert(host_ids_have(&ids, 10, 40));
    ck_assert(!host_ids_have(&ids, 10, 41));
    ids.users.extents[0].count = 20;
    ck_assert(!host_ids_have(&ids, 10, 40));
    ids.users.extents[0].count = 100;
    ids.may_map_others = false;
    ck_assert(!host_ids_have(&ids, 10, 40));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("host ids");
    tcase_add_loop_test(tests, ranges, 0, COUNT_OF(cases));
    tcase_add_test(tests, lines_that_are_none);
    tcase_add_test(tests, all_three_are_needed);
    return run_suite("host ids", &tests, 1);
}
