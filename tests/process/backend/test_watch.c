/* SPDX-License-Identifier: Apache-2.0 */
/* A run whose end cannot be watched is answered all the same, and the backend goes on (late_watch.c
 * is in it). */
#include <errno.h>

#include "suite.h"

START_TEST(an_unwatched_end_is_found)
{
    struct run_description description = describe(WORDS("true"));
    description.isolation = (uint32_t)_i;
    run(&backend, &description, &outcome);
    ck_assert_uint_eq(outcome.end.failure, RUN_FAILURE_INTERNAL);
    ck_assert_int_eq(outcome.end.error_number, ENOSPC);
    ck_assert_str_eq(outcome.end.message, "watch the run");
    /* Less than what a subreaper is given to tidy up. */
    ck_assert_msg(outcome.seconds < 0.9 * slowness(), "%f s", outcome.seconds);
    struct run_description next = describe(WORDS("echo", "hi"));
    expect_output(&next, "hi\n");
}
END_TEST

int main(void)
{
    suite_begin("watch");
    suite_add_round(an_unwatched_end_is_found, RUN_ISOLATION_SANDBOX, "sandboxed", NULL);
    suite_add_round(an_unwatched_end_is_found, RUN_ISOLATION_NONE, "unconfined", NULL);
    return suite_end();
}
