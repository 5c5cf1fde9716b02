/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine lacks: a mandatory layer refuses the run, an optional one is reported and
 * refuses only where it is required. The lack is made around this process, never on the machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "suite.h"

static void restart_backend(void)
{
    backend_stop(&backend);
    backend = backend_start();
}

static void expect_refusal(const struct run_description *description, enum isolation_layer layer)
{
    run(&backend, description, &outcome);
    expect_cause(&outcome, RUN_CAUSE_INFRASTRUCTURE);
    ck_assert_uint_eq(outcome.end.failure, RUN_FAILURE_LAYER);
    ck_assert_msg(outcome.end.failed_layer == layer, "layer %u, %s", outcome.end.failed_layer,
                  outcome.end.message);
    ck_assert(!outcome.started);
    ck_assert_str_eq(outcome.output, "");
}

static void write_text(const char *path, const char *text)
{
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
    ck_assert_msg(write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s: %s", path,
                  strerror(errno));
}

/* As an ordinary user of a user namespace, in which the named limit is then 0. */
static void forbid_here(const char *limit)
{
    char uid_map[32];
    char gid_map[32];
    (void)snprintf(uid_map, sizeof(uid_map), "1000 %u 1", geteuid());
    (void)snprintf(gid_map, sizeof(gid_map), "1000 %u 1", getegid());
    ck_assert_int_eq(unshare(CLONE_NEWUSER), 0);
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/uid_map", uid_map);
    write_text("/proc/self/gid_map", gid_map);
    restart_backend();
    struct run_description description = describe(WORDS("echo", "hi"));
    expect_output(&description, "hi\n");
    write_text(limit, "0");
}

static const struct {
    const char *limit;
    enum isolation_layer layer;
} lacks[] = {
    {"/proc/sys/user/max_user_namespaces", LAYER_USER_NAMESPACE},
    {"/proc/sys/user/max_pid_namespaces", LAYER_PID_NAMESPACE},
    {"/proc/sys/user/max_mnt_namespaces", LAYER_MOUNT_NAMESPACE},
    {"/proc/sys/user/max_net_namespaces", LAYER_NETWORK_NAMESPACE},
    {"/proc/sys/user/max_ipc_namespaces", LAYER_IPC_NAMESPACE},
    {"/proc/sys/user/max_uts_namespaces", LAYER_UTS_NAMESPACE},
    {"/proc/sys/user/max_cgroup_namespaces", LAYER_CGROUP_NAMESPACE},
};

/* Each in a process of its own, as there is no way back. */
static void refuse_without(size_t i)
{
    forbid_here(lacks[i].limit);
    struct run_description description = describe(WORDS("echo", "hi"));
    expect_refusal(&description, lacks[i].layer);
    ck_assert_int_eq(outcome.end.error_number, ENOSPC);
    description.isolation = RUN_ISOLATION_NONE;
    expect_output(&description, "hi\n");
}

START_TEST(without_namespace)
{
    refuse_without((size_t)_i);
}
END_TEST

/* One other /proc that is whole, such as that of a chroot elsewhere on the machine, is enough for
 * the kernel to give a fresh one. */
static void detach_other_procs(void)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    ck_assert_ptr_nonnull(mounts);
    char line[PATH_MAX + 512];
    while (fgets(line, sizeof(line), mounts) != NULL) {
        char place[PATH_MAX];
        if (strstr(line, " - proc ") != NULL &&
            sscanf(line, "%*s %*s %*s %*s %4095s", place) == 1 && strcmp(place, "/proc") != 0)
            (void)umount2(place, MNT_DETACH);
    }
    (void)fclose(mounts);
}

/* As in a container whose /proc is partly covered: the kernel then gives no fresh one. */
START_TEST(without_proc)
{
    ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
    ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    detach_other_procs();
    ck_assert_int_eq(mount("none", "/proc/tty", "tmpfs", MS_RDONLY, NULL), 0);
    restart_backend();
    struct run_description description =
        describe(WORDS("sh", "-c", "test -e /proc/1 || test -e /proc/version || echo none"));
    expect_output(&description, "none\n");
    ck_assert_uint_eq(outcome.end.isolation.missing & LAYER_BIT(LAYER_PROC), LAYER_BIT(LAYER_PROC));
    ck_assert_uint_eq(outcome.end.isolation.applied & LAYER_BIT(LAYER_PROC), 0);
    description.required = LAYER_BIT(LAYER_PROC);
    expect_refusal(&description, LAYER_PROC);
}
END_TEST

START_TEST(optional_layer_that_is_required)
{
    struct run_description description = describe(WORDS("echo", "hi"));
    expect_output(&description, "hi\n");
    description.required = LAYER_BIT(LAYER_CGROUP);
    expect_refusal(&description, LAYER_CGROUP);
}
END_TEST

START_TEST(unknown_requirement)
{
    struct run_description description = describe(WORDS("echo", "hi"));
    description.required = LAYER_BIT(LAYER_COUNT);
    run(&backend, &description, &outcome);
    ck_assert(!outcome.started);
    ck_assert_uint_ne(outcome.end.failure, RUN_FAILURE_NONE);
}
END_TEST

START_TEST(paths_that_may_not_be_shown)
{
    static const char *const paths[] = {"/",       "/proc", "/dev",       "/dev/shm",
                                        "/usr/..", "//",    "/usr/../etc"};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        struct run_description description = describe(WORDS("echo", "hi"));
        description.read_only_paths = WORDS("/usr", "/bin", "/lib", "/lib64", paths[i]);
        expect_refusal(&description, LAYER_READ_ONLY_ROOT);
    }
}
END_TEST

START_TEST(no_identity_left)
{
    struct run_description description = describe(WORDS("echo", "hi"));
    description.outer_uid_count = 0;
    expect_refusal(&description, LAYER_USER_NAMESPACE);
    description.outer_uid_count = 10;
    description.outer_uid_base = 0;
    expect_refusal(&description, LAYER_USER_NAMESPACE);
}
END_TEST

int main(void)
{
    suite_begin("refusal");
    for (size_t i = 0; i < COUNT_OF(lacks); i++)
        suite_add_round(without_namespace, (int)i, lacks[i].limit, NULL);
    suite_add(without_proc, lacks_root());
    suite_add(optional_layer_that_is_required, has_cgroup());
    suite_add(unknown_requirement, NULL);
    suite_add(paths_that_may_not_be_shown, NULL);
    suite_add(no_identity_left, lacks_root());
    return suite_end();
}
