/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gateway that is root only of a user namespace, as in a container of an ordinary user, or root
 * without the right to map others: every layer all the same, with the users that are to be had.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "suite.h"

#define OUTSIDE 300000 /* first of the users a namespace gets, by far below the policy's */

static bool write_to(pid_t pid, const char *file, const char *text)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static void restart_backend(void)
{
    backend_stop(&backend);
    backend = backend_start();
}

/* Root of a namespace with those maps, which a process outside writes. */
static void become_root_of(const char *users, const char *groups)
{
    pid_t self = getpid();
    int pair[2];
    char byte = 0;
    int status;
    ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
    pid_t outside = fork();
    if (outside == 0) {
        close_fd(pair[1]);
        while (read(pair[0], &byte, 1) > 0)
            ;
        _exit(!write_to(self, "uid_map", users) || !write_to(self, "gid_map", groups));
    }
    ck_assert_int_eq(unshare(CLONE_NEWUSER), 0);
    close_fd(pair[0]);
    close_fd(pair[1]);
    ck_assert_int_eq(waitpid(outside, &status, 0), outside);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(setresgid(0, 0, 0), 0);
    ck_assert_int_eq(setresuid(0, 0, 0), 0);
    restart_backend();
}

/* Every layer, the reopening of the output that a change of user would break, and no file of the
 * gateway's user. */
static void expect_whole_run(struct run_description *description)
{
    static const char *const words[] = {"sh", "-c",
                                        "echo $(id -u) > /dev/stdout; cat /etc/shadow; "
                                        "echo x > /usr/x; echo x > /proc/sys/kernel/hostname",
                                        NULL};
    description->argv = (char **)(uintptr_t)words;
    run(&backend, description, &outcome);
    expect_cause(&outcome, RUN_CAUSE_EXIT);
    ck_assert_msg(outcome.started, "%s", outcome.end.message);
    ck_assert_str_eq(outcome.output, "1000\n");
    ck_assert_int_ne(outcome.end.exit_code, 0);
    ck_assert_uint_eq(outcome.end.isolation.applied & LAYERS_MANDATORY, LAYERS_MANDATORY);
}

static bool become_root_of_oneself(void)
{
    char users[32];
    char groups[32];
    (void)snprintf(users, sizeof(users), "0 %u 1", geteuid());
    (void)snprintf(groups, sizeof(groups), "0 %u 1", getegid());
    return unshare(CLONE_NEWUSER) == 0 && write_to(getpid(), "setgroups", "deny") &&
           write_to(getpid(), "uid_map", users) && write_to(getpid(), "gid_map", groups);
}

START_TEST(one_user_only)
{
    ck_assert(become_root_of_oneself());
    restart_backend();
    struct run_description description = describe(WORDS("true"));
    expect_whole_run(&description);
    ck_assert_uint_eq(outcome.end.isolation.outer_uid, 0);
}
END_TEST

START_TEST(range_outside_of_the_namespace)
{
    char map[64];
    (void)snprintf(map, sizeof(map), "0 %d 65536", OUTSIDE);
    become_root_of(map, map);
    struct run_description description = describe(WORDS("true"));
    description.outer_uid_base = 2000000000;
    description.outer_uid_count = 65536;
    expect_whole_run(&description);
    ck_assert_uint_eq(outcome.end.isolation.outer_uid, 0);
}
END_TEST

START_TEST(range_inside_of_the_namespace)
{
    char map[64];
    (void)snprintf(map, sizeof(map), "0 %d 65536", OUTSIDE);
    become_root_of(map, map);
    struct run_description description = describe(WORDS("true"));
    description.outer_uid_base = 2000;
    description.outer_uid_count = 100;
    expect_whole_run(&description);
    ck_assert_uint_ge(outcome.end.isolation.outer_uid, 2000);
    ck_assert_uint_lt(outcome.end.isolation.outer_uid, 2100);
}
END_TEST

START_TEST(range_without_its_groups)
{
    char users[64];
    char groups[64];
    (void)snprintf(users, sizeof(users), "0 %d 65536", OUTSIDE);
    (void)snprintf(groups, sizeof(groups), "0 %d 2050", OUTSIDE);
    become_root_of(users, groups);
    struct run_description description = describe(WORDS("true"));
    description.outer_uid_base = 2000;
    description.outer_uid_count = 100;
    expect_whole_run(&description);
    ck_assert_uint_eq(outcome.end.isolation.outer_uid, 0);
}
END_TEST

/* Of the bounding set, so that the backend's execve does not give it back. */
START_TEST(root_that_may_not_change_users)
{
    static const unsigned long rights[] = {CAP_SETUID, CAP_SETGID};
    ck_assert_int_eq(prctl(PR_CAPBSET_DROP, rights[_i], 0, 0, 0), 0);
    restart_backend();
    struct run_description description = describe(WORDS("true"));
    expect_whole_run(&description);
    ck_assert_uint_eq(outcome.end.isolation.outer_uid, 0);
}
END_TEST

/* In a process of its own, as there is no way back: two levels, as a run makes another. */
static const char *lacks_nesting(void)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(!become_root_of_oneself() || unshare(CLONE_NEWUSER) < 0);
    (void)waitpid(pid, &status, 0);
    return status == 0 ? NULL : "user namespaces cannot be nested here";
}

int main(void)
{
    suite_begin("container");
    const char *nesting = lacks_nesting();
    const char *root = nesting ? nesting : lacks_root();
    suite_add(one_user_only, nesting);
    suite_add(range_outside_of_the_namespace, root);
    suite_add(range_inside_of_the_namespace, root);
    suite_add(range_without_its_groups, root);
    suite_add_round(root_that_may_not_change_users, 0, "root without CAP_SETUID", lacks_root());
    suite_add_round(root_that_may_not_change_users, 1, "root without CAP_SETGID", lacks_root());
    return suite_end();
}
