/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the frame of the test programs: see suite.h. */
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../../support/tap_suite.h"
#include "base/cleanup.h"

#define SKIPS_LIMIT       256
#define LOWEST_PROGRAM_FD 200 /* out of the way of what the tests count */

struct backend backend;
struct outcome outcome;

static struct {
    const char *name;
    Suite *suite;
    size_t skip_count;
    struct {
        const char *name;
        const char *reason;
    } skips[SKIPS_LIMIT];
} frame;

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

/* The backend is executed by descriptor: an ordinary user need not be able to walk to the build
 * directory. */
static void open_program(void)
{
    const char *program = getenv("CODE_EXECUTE_PROCESS");
    int opened = program ? open(program, O_RDONLY | O_CLOEXEC) : -1;
    int fd = fcntl(opened, F_DUPFD_CLOEXEC, LOWEST_PROGRAM_FD);
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd < 0 || setenv("CODE_EXECUTE_PROCESS", path, 1) < 0)
        abort();
    close_fd(opened);
}

void suite_begin(const char *name)
{
    open_program();
    const char *user = getenv("PROCESS_TEST_UID");
    if (user && !become_user(user)) {
        (void)printf("1..0 # SKIP takes root to become another user\n");
        exit(0);
    }
    frame.name = name;
    frame.suite = suite_create(name);
}

static void add(const TTest *test, int index, const char *name, const char *reason)
{
    if (reason) {
        if (frame.skip_count == SKIPS_LIMIT)
            abort();
        frame.skips[frame.skip_count].name = name;
        frame.skips[frame.skip_count++].reason = reason;
        return;
    }
    TCase *cases = tcase_create(name);
    tcase_set_timeout(cases, 120 * slowness());
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_loop_test(cases, test, index, index + 1);
    suite_add_tcase(frame.suite, cases);
}

void suite_add(const TTest *test, const char *reason)
{
    add(test, 0, test->name, reason);
}

void suite_add_round(const TTest *test, int index, const char *name, const char *reason)
{
    add(test, index, name, reason);
}

/* Check's lines, with the skipped behind them and in the plan, which comes last. */
static void print_results(FILE *results)
{
    char line[8192];
    size_t count = 0;
    while (fgets(line, sizeof(line), results))
        if (sscanf(line, "1..%zu", &count) != 1)
            (void)fputs(line, stdout);
    for (size_t i = 0; i < frame.skip_count; i++)
        (void)printf("ok %zu - %s:%s # SKIP %s\n", ++count, frame.name, frame.skips[i].name,
                     frame.skips[i].reason);
    (void)printf("1..%zu\n", count);
}

int suite_end(void)
{
    char path[64];
    CLEANUP_CLOSE int fd = memfd_create("results", MFD_CLOEXEC);
    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
    SRunner *runner = srunner_create(frame.suite);
    srunner_set_tap(runner, path);
    srunner_run_all(runner, CK_SILENT);
    explain_failures(runner);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    FILE *results = fopen(path, "re");
    if (!results) {
        (void)printf("Bail out! %s: %s\n", path, strerror(errno));
        return 1;
    }
    print_results(results);
    (void)fclose(results);
    return failed != 0;
}

const char *lacks_root(void)
{
    return geteuid() == 0 ? NULL : "takes root";
}

static bool runs_are_counted(void)
{
    static int counted = -1;
    if (counted < 0) {
        struct run_description description = describe(WORDS("true"));
        backend = backend_start();
        run(&backend, &description, &outcome);
        backend_stop(&backend);
        counted = (outcome.end.isolation.applied & LAYER_BIT(LAYER_CGROUP)) != 0;
    }
    return counted != 0;
}

const char *lacks_cgroup(void)
{
    return runs_are_counted() ? NULL : "no cgroup may be written here";
}

const char *has_cgroup(void)
{
    return runs_are_counted() ? "a cgroup counts here" : NULL;
}

const char *lacks_program(const char *name)
{
    static const char *const directories[] = {"/usr/local/bin", "/usr/bin", "/bin"};
    static char reasons[16][64];
    static size_t used;
    for (size_t i = 0; i < COUNT_OF(directories); i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "%s/%s", directories[i], name);
        if (access(path, X_OK) == 0)
            return NULL;
    }
    char *reason = reasons[used++ % COUNT_OF(reasons)];
    (void)snprintf(reason, sizeof(reasons[0]), "%s is not installed", name);
    return reason;
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
