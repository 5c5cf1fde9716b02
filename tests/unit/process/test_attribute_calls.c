/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that change attributes of files, behind the filters of process mode without namespaces.
 * Each attempt is made by a child without the filters, too: the kernel's own answer, and the proof
 * that the attempt would do what it is meant to. As an ordinary user.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attribute_attempts.h"
#include "base/cleanup.h"
#include "base/remove_tree.h"
#include "filtered_child.h"
#include "tap_suite.h"

#define NOBODY      65534
#define OTHER_GROUP 65533
#define RACE_ROUNDS 3000

static char top[] = "/tmp/test-attribute-calls-XXXXXX";
static int home = -1;
static int run(bool filtered, attempt made)
{
    struct filtered_child child = {.home = home, .filtered = filtered};
    int result = filtered_child_run(&child, made);
    ck_assert_int_eq(child.other_call, 0);
    return result;
}

static void make_file(const char *path)
{
    CLEANUP_CLOSE int fd = openat(home, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fchmod(fd, 0600), 0);
}

static struct stat status_of(const char *path)
{
    struct stat status;
    ck_assert_int_eq(fstatat(home, path, &status, AT_SYMLINK_NOFOLLOW), 0);
    return status;
}

/* Of each change the kernel notes the time. */
static bool is_changed(const struct stat *before, const char *path)
{
    struct stat now = status_of(path);
    return now.st_ctim.tv_sec != before->st_ctim.tv_sec ||
           now.st_ctim.tv_nsec != before->st_ctim.tv_nsec;
}

/* Until the kernel's clock of files has passed the last change of this one. */
static void let_time_pass(const char *path)
{
    struct timespec last = status_of(path).st_ctim;
    struct timespec now = last;
    while (now.tv_sec < last.tv_sec || (now.tv_sec == last.tv_sec && now.tv_nsec <= last.tv_nsec)) {
        ck_assert_int_eq(fchmodat(home, "clock", 0600, 0), 0);
        now = status_of("clock").st_ctim;
    }
}

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(top));
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/home", top);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    home = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(home, 0);
    ck_assert_int_eq(mkdirat(home, "../outside", 0700), 0);
    ck_assert_int_eq(mkdirat(home, "../home-of-another", 0700), 0);
    ck_assert_int_eq(mkdirat(home, "directory", 0700), 0);
    ck_assert_int_eq(mkfifoat(home, "pipe", 0600), 0);
    make_file("clock");
    make_file("file");
    make_file("../outside/file");
    make_file("../home-of-another/file");
    ck_assert_int_eq(symlinkat("file", home, "link"), 0);
    ck_assert_int_eq(symlinkat("../outside/file", home, "link-out"), 0);
    ck_assert_int_eq(symlinkat("../outside", home, "directory-out"), 0);
}

static void tear_down(void)
{
    close_fd(TAKE_FD(home));
    remove_tree(top);
    memcpy(top + sizeof(top) - 7, "XXXXXX", 6);
}

/* Kernels older than fchmodat2(2), and profiles of containers. */
static bool is_unknown(attempt way)
{
    target = "file";
    return run(false, way) == ENOSYS;
}

START_TEST(own_files_change)
{
    static const char *const own[] = {
        "file", "link", "directory", "directory/.", "./directory/../file", "pipe"};
    for (size_t i = 0; i < COUNT_OF(own) && !is_unknown(attribute_ways[_i]); i++) {
        target = own[i];
        bool is_of_link = strcmp(target, "link") == 0;
        const char *changed = is_of_link ? "file" : target;
        for (int filtered = 0; filtered <= 1; filtered++) {
            let_time_pass(changed);
            struct stat before = status_of(changed);
            struct stat link_before = status_of("link");
            ck_assert_msg(run(filtered, attribute_ways[_i]) == 0, "%s, filtered %d", target,
                          filtered);
            ck_assert_msg(is_changed(&before, changed) || is_changed(&link_before, "link"), "%s",
                          target);
        }
    }
}
END_TEST

static char absolute[PATH_MAX];

START_TEST(other_files_stay)
{
    (void)snprintf(absolute, sizeof(absolute), "%s/outside/file", top);
    const char *const others[][2] = {
        {absolute, "../outside/file"},
        {"../outside/file", "../outside/file"},
        {"link-out", "../outside/file"},
        {"directory-out/file", "../outside/file"},
        {"../outside", "../outside"},
        {".", "."},
        {"..", ".."},
        {"../home-of-another/file", "../home-of-another/file"},
    };
    for (size_t i = 0; i < COUNT_OF(others) && !is_unknown(attribute_ways[_i]); i++) {
        target = others[i][0];
        const char *changed = others[i][1];
        if (attribute_way_is_of_link(attribute_ways[_i]) && strcmp(target, "link-out") == 0)
            continue;
        let_time_pass(changed);
        struct stat before = status_of(changed);
        int result = run(true, attribute_ways[_i]);
        ck_assert_msg(result == EPERM, "%s: %d", target, result);
        ck_assert_msg(!is_changed(&before, changed), "%s", target);
        ck_assert_msg(run(false, attribute_ways[_i]) == 0 && is_changed(&before, changed),
                      "%s: the control", target);
    }
}
END_TEST

static int of_removed_file(void)
{
    CLEANUP_CLOSE int fd = open("removed", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    (void)unlink("removed");
    return no_error(syscall(SYS_fchmod, fd, 0700));
}

static int of_pipe(void)
{
    int ends[2];
    return pipe2(ends, O_CLOEXEC) < 0 ? errno : no_error(syscall(SYS_fchmod, ends[0], 0700));
}

START_TEST(what_is_no_file_of_the_run_stays)
{
    static const attempt attempts[] = {of_removed_file, of_pipe};
    ck_assert_int_eq(run(true, attempts[_i]), EPERM);
    ck_assert_int_eq(run(false, attempts[_i]), 0);
}
END_TEST

START_TEST(nothing_for_a_caller_that_hides)
{
    struct filtered_child child = {.home = home, .hidden = true, .filtered = true};
    target = "file";
    if (is_unknown(attribute_ways[_i]))
        return;
    ck_assert_int_eq(filtered_child_run(&child, attribute_ways[_i]), EPERM);
    child.filtered = false;
    ck_assert_int_eq(filtered_child_run(&child, attribute_ways[_i]), 0);
}
END_TEST

static int set_user_id(void)
{
    target = "file";
    return no_error(syscall(SYS_fchmodat, AT_FDCWD, target, 07755));
}

START_TEST(no_set_user_id_bit)
{
    ck_assert_int_eq(run(true, set_user_id), 0);
    ck_assert_uint_eq(status_of("file").st_mode & 07777, 01755);
    ck_assert_int_eq(run(false, set_user_id), 0);
    ck_assert_uint_eq(status_of("file").st_mode & 07777, 07755);
}
END_TEST

static int other_group(void)
{
    return no_error(syscall(SYS_fchownat, AT_FDCWD, "file", -1, OTHER_GROUP, 0));
}

START_TEST(owners_stay)
{
    gid_t groups[1];
    ck_assert_int_eq(run(true, other_group), EPERM);
    if (getgroups(COUNT_OF(groups), groups) == 1 && groups[0] == OTHER_GROUP)
        ck_assert_int_eq(run(false, other_group), 0);
}
END_TEST

START_TEST(answers_are_the_kernels)
{
    for (size_t i = 0; i < attribute_answer_count; i++) {
        struct stat outside = status_of("../outside/file");
        int expected = run(false, attribute_answers[i]);
        int result = expected == ENOSYS ? ENOSYS : run(true, attribute_answers[i]);
        ck_assert_msg(result == expected, "%zu: %s, not %s", i, strerror(result),
                      strerror(expected));
        ck_assert(!is_changed(&outside, "../outside/file"));
    }
    ck_assert_int_eq(status_of("link-out").st_mtim.tv_sec, THEN);
}
END_TEST

static char changing[PATH_MAX];
static volatile bool stop_changing;

static void swap_in(const char *place)
{
    if (symlink(place, "next") == 0)
        (void)rename("next", "swapped");
}

/* Until the other thread has done its rounds. */
static void *change_path(void *unused)
{
    while (!stop_changing) {
        memcpy(changing, "../outside/file", 16);
        memcpy(changing, "file", 5);
        swap_in("../outside/file");
        swap_in("file");
    }
    return unused;
}

/* Both calls, until enough is enough. */
static int race(bool (*is_enough)(int round))
{
    pthread_t thread;
    (void)strcpy(changing, "file");
    (void)unlink("swapped");
    if (symlink("file", "swapped") < 0 || pthread_create(&thread, NULL, change_path, NULL) != 0)
        return ENDED_BY_SIGNAL;
    for (int round = 0; !is_enough(round); round++) {
        (void)syscall(SYS_fchmodat, AT_FDCWD, changing, 0700);
        (void)syscall(SYS_fchmodat, AT_FDCWD, "swapped", 0700);
    }
    stop_changing = true;
    return pthread_join(thread, NULL);
}

static bool is_last_round(int round)
{
    return round == RACE_ROUNDS;
}

static bool is_won(int round)
{
    struct stat status;
    (void)round;
    return stat("../outside/file", &status) == 0 && (status.st_mode & 07777) == 0700;
}

static int race_for_long(void)
{
    return race(is_last_round);
}

static int race_until_won(void)
{
    return race(is_won);
}

START_TEST(a_path_that_changes_leads_nowhere)
{
    let_time_pass("../outside/file");
    struct stat before = status_of("../outside/file");
    ck_assert_int_eq(run(true, race_for_long), 0);
    ck_assert(!is_changed(&before, "../outside/file"));
    ck_assert_int_eq(run(false, race_until_won), 0);
    ck_assert(is_changed(&before, "../outside/file"));
}
END_TEST

static void kill_caller(const struct seccomp_notif *call)
{
    (void)kill((pid_t)call->pid, SIGKILL);
    ck_assert_int_eq(waitid(P_PID, (id_t)call->pid, NULL, WEXITED | WNOWAIT), 0);
}

START_TEST(nothing_for_a_caller_that_was_killed)
{
    struct filtered_child child = {.home = home, .filtered = true, .before_answer = kill_caller};
    target = "file";
    let_time_pass(target);
    struct stat before = status_of(target);
    ck_assert_int_eq(filtered_child_run(&child, attribute_ways[_i]), ENDED_BY_SIGNAL);
    ck_assert(!is_changed(&before, target));
}
END_TEST

static int load_module(void)
{
    return no_error(syscall(SYS_init_module, NULL, 0, ""));
}

START_TEST(other_held_calls_are_left)
{
    struct filtered_child child = {.home = home, .filtered = true};
    ck_assert_int_eq(filtered_child_run(&child, load_module), ENDED_BY_SIGNAL);
    ck_assert_int_eq(child.other_call, SYS_init_module);
}
END_TEST

/* An ordinary user, who may look at own processes only while they are dumpable, and may give own
 * files to the other group. */
static bool be_ordinary(void)
{
    static const gid_t groups[] = {OTHER_GROUP};
    return geteuid() != 0 ||
           (setgroups(COUNT_OF(groups), groups) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
            setresuid(NOBODY, NOBODY, NOBODY) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
}

int main(void)
{
    if (!be_ordinary())
        return EXIT_FAILURE;
    TCase *tests = tcase_create("attribute calls");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, own_files_change, 0, (int)attribute_way_count);
    tcase_add_loop_test(tests, other_files_stay, 0, (int)attribute_way_count);
    tcase_add_loop_test(tests, what_is_no_file_of_the_run_stays, 0, 2);
    tcase_add_loop_test(tests, nothing_for_a_caller_that_hides, 0, (int)attribute_way_count);
    tcase_add_test(tests, no_set_user_id_bit);
    tcase_add_test(tests, owners_stay);
    tcase_add_test(tests, answers_are_the_kernels);
    tcase_add_test(tests, a_path_that_changes_leads_nowhere);
    tcase_add_loop_test(tests, nothing_for_a_caller_that_was_killed, 0, (int)attribute_way_count);
    tcase_add_test(tests, other_held_calls_are_left);
    return run_suite("attribute calls", &tests, 1);
}
