/* SPDX-License-Identifier: Apache-2.0 */
/* warm_pool_size: how many are kept ready follows how many were asked for, within its bounds. Pure.
 */
#include "backends/process/supervisor/pool/warm_pool_size.h"

#include <stdlib.h>

#include "tap_suite.h"

#define PERIOD 1000

static struct warm_pool_size begun(uint32_t least, uint32_t most)
{
    struct warm_pool_size size = {.least = 0};
    warm_pool_size_set(&size, least, most, PERIOD, 0);
    return size;
}

START_TEST(begins_with_the_least)
{
    struct warm_pool_size size = begun(2, 5);
    ck_assert_uint_eq(size.wanted, 2);
    size = begun(3, 1);
    ck_assert_uint_eq(size.wanted, 3);
    ck_assert_uint_eq(size.most, 3);
}
END_TEST

START_TEST(grows_with_runs_that_found_none)
{
    struct warm_pool_size size = begun(1, 3);
    warm_pool_size_note(&size, 1);
    ck_assert_uint_eq(size.wanted, 1);
    for (int i = 0; i < 5; i++)
        warm_pool_size_note(&size, 0);
    ck_assert_uint_eq(size.wanted, 3);
}
END_TEST

START_TEST(shrinks_by_what_nobody_needed)
{
    struct warm_pool_size size = begun(1, 8);
    for (int i = 0; i < 7; i++)
        warm_pool_size_note(&size, 0);
    ck_assert_uint_eq(size.wanted, 8);
    warm_pool_size_pass(&size, 8, PERIOD - 1);
    ck_assert_uint_eq(size.wanted, 8);
    warm_pool_size_pass(&size, 8, PERIOD); /* in which none was left once */
    ck_assert_uint_eq(size.wanted, 8);
    warm_pool_size_note(&size, 8);
    warm_pool_size_note(&size, 6);
    warm_pool_size_pass(&size, 8, 2 * PERIOD); /* in which five were always left */
    ck_assert_uint_eq(size.wanted, 3);
    warm_pool_size_pass(&size, 3, 3 * PERIOD); /* in which nobody came */
    ck_assert_uint_eq(size.wanted, 1);
}
END_TEST

START_TEST(other_bounds_hold_at_once)
{
    struct warm_pool_size size = begun(4, 8);
    warm_pool_size_set(&size, 0, 2, PERIOD, 10);
    ck_assert_uint_eq(size.wanted, 2);
    warm_pool_size_set(&size, 0, 0, PERIOD, 20);
    ck_assert_uint_eq(size.wanted, 0);
    warm_pool_size_note(&size, 0);
    ck_assert_uint_eq(size.wanted, 0);
}
END_TEST

START_TEST(never_leaves_its_bounds)
{
    struct warm_pool_size size = begun(2, 6);
    uint64_t now = 0;
    srand(1);
    for (int i = 0; i < 100000; i++) {
        warm_pool_size_note(&size, (uint32_t)rand() % 8);
        now += (uint64_t)rand() % PERIOD;
        warm_pool_size_pass(&size, (uint32_t)rand() % 8, now);
        ck_assert_uint_ge(size.wanted, 2);
        ck_assert_uint_le(size.wanted, 6);
    }
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("warm pool size");
    tcase_add_test(cases, begins_with_the_least);
    tcase_add_test(cases, grows_with_runs_that_found_none);
    tcase_add_test(cases, shrinks_by_what_nobody_needed);
    tcase_add_test(cases, other_bounds_hold_at_once);
    tcase_add_test(cases, never_leaves_its_bounds);
    return run_suite("warm pool size", &cases, 1);
}
