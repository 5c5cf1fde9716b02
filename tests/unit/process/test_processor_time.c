/* SPDX-License-Identifier: Apache-2.0 */
/* The processor time of many processes: from a control group of version 2, and from /proc. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "backends/process/supervisor/cgroup/cgroup.h"
#include "base/cleanup.h"
#include "base/process_stat.h"
#include "tap_suite.h"

#define SPENT_US   UINT64_C(200000)
#define TICKS_US   UINT64_C(80000) /* that may be missing from two processes */
#define NO_SUCH_ID 0x7fffffff

static void spend(void)
{
    struct timespec now;
    do
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_sec == 0 && now.tv_nsec < (long)SPENT_US * 1000);
}

/* A process that has waited for one child, and goes on beside another one. Each of the children has
 * used its time. */
static void begin_tree(int told)
{
    pid_t first = fork();
    if (first == 0) {
        spend();
        _exit(0);
    }
    (void)waitpid(first, NULL, 0);
    if (fork() == 0) {
        spend();
        if (write(told, "x", 1) == 1)
            (void)pause();
        _exit(1);
    }
    (void)pause();
}

START_TEST(a_tree)
{
    int told[2];
    char byte;
    struct tree_time used;
    ck_assert_int_eq(pipe(told), 0);
    pid_t parent = fork();
    if (parent == 0) {
        (void)setpgid(0, 0);
        begin_tree(told[1]);
    }
    ck_assert_int_eq(read(told[0], &byte, 1), 1);
    ck_assert(tree_time_read(parent, &used));
    (void)kill(-parent, SIGKILL);
    (void)waitpid(parent, NULL, 0);
    ck_assert_uint_ge(used.user_us + used.system_us, 2 * SPENT_US - TICKS_US);
    ck_assert(!tree_time_read(NO_SUCH_ID, &used));
}
END_TEST

/* false and *ret untouched where the group says nothing. */
static bool read_group(uint32_t version, const char *text, uint64_t *ret_us)
{
    struct cgroup cgroup = {.version = version, .has_pids = true};
    char path[sizeof(cgroup.pids) + 16];
    (void)snprintf(cgroup.pids, sizeof(cgroup.pids), "/tmp/test-processor-time-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(cgroup.pids));
    (void)snprintf(path, sizeof(path), "%s/cpu.stat", cgroup.pids);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    (void)fputs(text, file);
    (void)fclose(file);
    bool is_told = cgroup_processor_time(&cgroup, ret_us);
    (void)unlink(path);
    (void)rmdir(cgroup.pids);
    return is_told;
}

START_TEST(a_control_group)
{
    static const char text[] = "usage_usec 1234567\nuser_usec 1000000\nsystem_usec 234567\n";
    uint64_t used_us = 0;
    ck_assert(!read_group(1, text, &used_us));
    ck_assert(!read_group(2, "user_usec 1000000\n", &used_us));
    ck_assert_uint_eq(used_us, 0);
    ck_assert(read_group(2, text, &used_us));
    ck_assert_uint_eq(used_us, 1234567);
    const struct cgroup none = {.version = 2};
    ck_assert(!cgroup_processor_time(&none, &used_us));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("processor time");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, a_tree);
    tcase_add_test(cases, a_control_group);
    return run_suite("processor time", &cases, 1);
}
