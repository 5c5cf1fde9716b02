/* SPDX-License-Identifier: Apache-2.0 */
/* Cases that fail on purpose, each in one way: what test_failure_reports.py looks for in the logs.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "tap_suite.h"

/* The compiler is not to see that a case never returns. */
static volatile bool fails_on_purpose = true;

START_TEST(passes)
{
    ck_assert_int_eq(1, 1);
}
END_TEST

START_TEST(fails)
{
    ck_assert_msg(!fails_on_purpose, "the assertion of the C case,\nand its second line");
}
END_TEST

START_TEST(crashes)
{
    mark_point();
    if (fails_on_purpose)
        abort();
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("failing");
    tcase_add_test(cases, fails);
    tcase_add_test(cases, passes);
    tcase_add_test(cases, crashes);
    return run_suite("failing", &cases, 1);
}
