/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the clone of a run's first process: see launch.h. Runs in the supervisor; the child side
 * until it has arranged its descriptors. */
#include "backends/process/supervisor/launch/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/process/program/main_program.h"
#include "backends/process/sandbox/sandbox.h"
#include "backends/process/sandbox/sandbox_clone.h"
#include "backends/process/supervisor/cgroup/cgroup_file.h"
#include "backends/process/supervisor/fork_server/fork_server.h"
#include "backends/process/unconfined/unconfined.h"
#include "base/cleanup.h"

/* Child: 0-2 become the run's. */
static void arrange_streams(const int *fds, int report)
{
    if (dup2(fds[RUN_FD_STDIN], STDIN_FILENO) < 0 || dup2(fds[RUN_FD_STDOUT], STDOUT_FILENO) < 0 ||
        dup2(fds[RUN_FD_STDERR], STDERR_FILENO) < 0)
        main_program_fail(report, RUN_FAILURE_INTERNAL, errno, "arrange descriptors");
}

/* The clone says only that something was refused. One namespace after the other tells which; each
 * of these children ends at once. */
static enum isolation_layer refused_namespace(unsigned long wanted)
{
    unsigned long flags = 0;
    for (int i = 0; i < NAMESPACE_COUNT; i++) {
        flags |= namespace_kinds[i].flag & wanted;
        pid_t pid = clone_process(flags, NULL);
        if (pid == 0)
            _exit(0);
        if (pid < 0)
            return namespace_kinds[i].layer;
        (void)waitpid(pid, NULL, 0);
    }
    return LAYER_USER_NAMESPACE;
}

static int write_map(pid_t pid, const char *file, uint32_t outer)
{
    char directory[32];
    char map[64];
    (void)snprintf(directory, sizeof(directory), "/proc/%d", (int)pid);
    (void)snprintf(map, sizeof(map), "%u %u 1", SANDBOX_UID, outer);
    return cgroup_file_write(directory, file, map);
}

/* user_namespaces(7): who may not map others may map the own group only after setgroups(2) is off.
 */
static int write_identity(pid_t pid, const struct launch *launch, const char **reterr_step)
{
    char directory[32];
    (void)snprintf(directory, sizeof(directory), "/proc/%d", (int)pid);
    *reterr_step = "write setgroups";
    if (cgroup_file_write(directory, "setgroups", "deny") < 0)
        return -1;
    *reterr_step = "write uid_map";
    if (write_map(pid, "uid_map", launch->outer_uid) < 0)
        return -1;
    *reterr_step = "write gid_map";
    return write_map(pid, "gid_map", launch->outer_gid);
}

static int fail(struct launch_failure *reterr, enum isolation_layer layer, const char *step)
{
    *reterr = (struct launch_failure){.layer = layer, .error_number = errno, .step = step};
    return -1;
}

static void kill_and_reap(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* It enters its control groups itself: the kernel may take its time over that. */
static int let_go_on(const struct launch *launch, int report)
{
    int entrances[CGROUP_ENTRANCES];
    size_t count = cgroup_open_entrances(launch->cgroup, entrances);
    const struct sandbox_go go = {
        .has_memory = launch->cgroup->has_memory,
        .has_pids = launch->cgroup->has_pids,
        .group_count = (uint32_t)count,
        .tells_peak = cgroup_tells_peak(launch->cgroup),
    };
    int result = channel_send(report, &go, sizeof(go), entrances, count);
    for (size_t i = 0; i < count; i++)
        close_fd(entrances[i]);
    return result;
}

/* The child. */
static _Noreturn void be_sandbox(const struct launch *launch, int report)
{
    struct sandbox sandbox;
    arrange_report(report);
    sandbox_init(launch->template, launch->filters, launch->outside, &sandbox);
    _exit(1);
}

static pid_t make_first_process(const struct launch *launch, unsigned long flags, int report,
                                int *pidfd)
{
    if (launch->interpreter)
        return fork_server_copy(launch->interpreter, report, pidfd);
    return clone_sandbox(flags, pidfd);
}

int launch_sandbox(const struct launch *launch, struct launched *ret, struct launch_failure *reterr)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return fail(reterr, LAYER_COUNT, "socketpair");
    CLEANUP_CLOSE int report = pair[0];
    CLEANUP_CLOSE int child_report = pair[1];
    unsigned long flags = sandbox_namespace_flags(launch->template);
    int pidfd = -1;
    pid_t pid = make_first_process(launch, flags, child_report, &pidfd);
    int error = errno;
    if (pid == 0)
        be_sandbox(launch, child_report);
    if (pid < 0) {
        enum isolation_layer layer =
            error == EAGAIN || error == ENOMEM ? LAYER_COUNT : refused_namespace(flags);
        errno = error;
        return fail(reterr, layer, "clone");
    }
    CLEANUP_CLOSE int owned_pidfd = pidfd;
    const char *step;
    if (write_identity(pid, launch, &step) < 0) {
        (void)fail(reterr, LAYER_USER_NAMESPACE, step);
        kill_and_reap(pid);
        return -1;
    }
    if (let_go_on(launch, report) < 0) {
        (void)fail(reterr, LAYER_COUNT, "release init");
        kill_and_reap(pid);
        return -1;
    }
    *ret = (struct launched){.pid = pid, .pidfd = TAKE_FD(owned_pidfd), .report = TAKE_FD(report)};
    return 0;
}

int launch_unconfined(struct run_description *description, const char *directory,
                      const int fds[RUN_FD_COUNT], struct launched *ret,
                      struct launch_failure *reterr)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return fail(reterr, LAYER_COUNT, "socketpair");
    CLEANUP_CLOSE int report = pair[0];
    CLEANUP_CLOSE int child_report = pair[1];
    int pidfd = -1;
    pid_t pid = clone_process(0, &pidfd);
    if (pid < 0)
        return fail(reterr, LAYER_COUNT, "clone");
    if (pid == 0) {
        arrange_streams(fds, child_report);
        arrange_report(child_report);
        unconfined_keep(description, directory);
    }
    *ret = (struct launched){.pid = pid, .pidfd = pidfd, .report = TAKE_FD(report)};
    return 0;
}
