/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the frame of the test programs: see suite.h. */
#include "suite.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct backend backend;
struct outcome outcome;

static void set_up(void)
{
    backend = backend_start();
}

static void tear_down(void)
{
    backend_stop(&backend);
}

static bool become_user(const char *text)
{
    uid_t uid = (uid_t)strtoul(text, NULL, 10);
    return geteuid() == 0 && setgroups(0, NULL) == 0 && setresgid(uid, uid, uid) == 0 &&
           setresuid(uid, uid, uid) == 0 &&
           prctl(PR_SET_DUMPABLE, 1) == 0; /* or /proc/self stays root's */
}

int suite_main(const char *name, const TTest *const *tests)
{
    const char *user = getenv("PROCESS_TEST_UID");
    if (user && !become_user(user))
        return 77;
    Suite *suite = suite_create(name);
    TCase *cases = tcase_create(name);
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    for (; *tests; tests++)
        tcase_add_test(cases, *tests);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

void expect_cause(const struct outcome *ended, enum run_cause cause)
{
    ck_assert_msg(
        ended->end.cause == cause,
        "cause %s, exit %d, signal %d, failure %u, layer %u, errno %d, '%s', stdout '%s', "
        "stderr '%s'",
        run_cause_name((enum run_cause)ended->end.cause), ended->end.exit_code, ended->end.signal,
        ended->end.failure, ended->end.failed_layer, ended->end.error_number, ended->end.message,
        ended->output, ended->errors);
}

void expect_output(struct run_description *description, const char *output)
{
    run(&backend, description, &outcome);
    expect_cause(&outcome, RUN_CAUSE_EXIT);
    ck_assert_msg(outcome.end.exit_code == 0, "exit %d: %s", outcome.end.exit_code, outcome.errors);
    ck_assert_str_eq(outcome.output, output);
}
