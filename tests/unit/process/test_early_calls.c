/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that a program without namespaces makes before its start is over, as an interpreter does
 * that imports modules ahead of its run: the init answers those that it makes itself, and any other
 * one ends the run as soon as that has begun.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/process/program/main_program.h"
#include "backends/process/supervisor/filter/seccomp_filter.h"
#include "base/cleanup.h"
#include "base/remove_tree.h"
#include "tap_suite.h"

#define ALL_THREADS (SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH)

static char top[] = "/tmp/test-early-calls-XXXXXX";
static struct seccomp_filters filters;
static int begin_attack[2];

static int load(const struct seccomp_program *program, unsigned int flags)
{
    struct sock_fprog loaded = {.len = program->count, .filter = program->instructions};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &loaded);
}

/* All threads get the filters, also one that was there before. */
static bool become_filtered(int report)
{
    const struct report filtered = {.kind = REPORT_FILTERED};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        load(&filters.guard[SECCOMP_GUARD_UNPRIVILEGED], ALL_THREADS) != 0)
        return false;
    CLEANUP_CLOSE int listener =
        load(&filters.list_with_attributes, ALL_THREADS | SECCOMP_FILTER_FLAG_NEW_LISTENER);
    return listener >= 0 && report_send_with(report, &filtered, listener);
}

static _Noreturn void finish_start(int report, int status)
{
    const struct report ready = {.kind = REPORT_READY};
    (void)report_send(report, &ready);
    close_fd(report);
    _exit(status);
}

static _Noreturn void change_and_fork(int report)
{
    struct stat status;
    if (!become_filtered(report) || chmod("early", 0711) < 0)
        _exit(EXIT_FAILURE);
    pid_t pid = fork();
    if (pid == 0)
        _exit(EXIT_SUCCESS);
    bool is_done = waitpid(pid, NULL, 0) == pid && stat("early", &status) == 0 &&
                   (status.st_mode & 07777) == 0711;
    finish_start(report, is_done ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void *attack(void *unused)
{
    char word;
    (void)!read(begin_attack[0], &word, 1);
    (void)syscall(SYS_init_module, NULL, 0, "");
    return unused;
}

/* A thread attacks, and the program goes on; it ends only by that. */
static _Noreturn void attack_and_go_on(int report)
{
    pthread_t thread;
    if (pipe2(begin_attack, O_CLOEXEC) < 0 || pthread_create(&thread, NULL, attack, NULL) != 0 ||
        !become_filtered(report) || write(begin_attack[1], "x", 1) != 1)
        _exit(EXIT_FAILURE);
    const struct report ready = {.kind = REPORT_READY};
    (void)report_send(report, &ready);
    close_fd(report);
    for (;;)
        (void)pause();
}

/* What the init reports of that child at its end. */
static struct report run(void (*child)(int report))
{
    int pair[2];
    struct main_program program;
    struct report ended = {.kind = 0};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(main_program_fork(&program), 0);
    if (program.pid == 0)
        child(program.start_report);
    program.is_filtered = true;
    program.home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert(main_program_watch(&program, pair[0], &ended));
    (void)waitpid(program.pid, NULL, 0);
    close_fd(program.home);
    close_fd(program.listener);
    close_fd(pair[0]);
    close_fd(pair[1]);
    return ended;
}

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(top));
    ck_assert_int_eq(chdir(top), 0);
    CLEANUP_CLOSE int file = open("early", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(seccomp_filters_make(&filters), 0);
}

static void tear_down(void)
{
    remove_tree(top);
}

START_TEST(held_calls_are_answered)
{
    struct report ended = run(change_and_fork);
    ck_assert_uint_eq(ended.kind, REPORT_ENDED);
    ck_assert_uint_eq(ended.made_forbidden_call, 0);
    ck_assert_int_eq(ended.wait_status, 0);
}
END_TEST

START_TEST(an_attack_ends_the_run)
{
    struct report ended = run(attack_and_go_on);
    ck_assert_uint_eq(ended.kind, REPORT_ENDED);
    ck_assert_uint_eq(ended.made_forbidden_call, 1);
    ck_assert_int_eq(ended.system_call, SYS_init_module);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("early calls");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, held_calls_are_answered);
    tcase_add_test(tests, an_attack_ends_the_run);
    return run_suite("early calls", &tests, 1);
}
