/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the Check programs have in common: one suite, results as TAP on standard
 * output for meson. Single-threaded test process.
 */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Check's own assertions write to a file each time they hold: not for a million rounds. */
#define HOLDS(condition, ...)          \
    do {                               \
        if (!(condition))              \
            ck_abort_msg(__VA_ARGS__); \
    } while (0)

/* On standard error where another program reads the verdicts: of a TAP program,
 * meson test --print-errorlogs shows only that. */
static inline void explain_failures(SRunner *runner)
{
    if (isatty(STDOUT_FILENO))
        return;
    TestResult **failures = srunner_failures(runner);
    for (int i = 0; i < srunner_ntests_failed(runner); i++)
        (void)fprintf(stderr, "%s:%d: %s: %s\n", tr_lfile(failures[i]), tr_lno(failures[i]),
                      tr_tcname(failures[i]), tr_msg(failures[i]));
    free((void *)failures);
}

static inline int run_suite(const char *name, TCase *const *cases, size_t count)
{
    Suite *suite = suite_create(name);
    for (size_t i = 0; i < count; i++)
        suite_add_tcase(suite, cases[i]);
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    explain_failures(runner);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
