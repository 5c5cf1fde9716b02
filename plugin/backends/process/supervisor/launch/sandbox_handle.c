/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the making of first processes and the handing over of runs: see sandbox_handle.h. Runs in
 * the supervisor. */
#include "backends/process/supervisor/launch/sandbox_handle.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/process/messages/report.h"
#include "backends/process/supervisor/launch/launch.h"
#include "base/cleanup.h"

struct sandbox_handle *sandbox_handle_new(void)
{
    struct sandbox_handle *process = calloc(1, sizeof(*process));
    if (process)
        process->pidfd = process->report = process->directory.lock = -1;
    return process;
}

static struct sandbox_handle *new_process(struct launch_failure *reterr)
{
    struct sandbox_handle *process = sandbox_handle_new();
    if (!process)
        (void)launch_fail(reterr, LAYER_COUNT, ENOMEM, "no memory for the run");
    return process;
}

static void make_group(struct run_environment *environment, struct cgroup *ret)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "%" PRIu64, ++environment->groups_made);
    cgroup_create(&environment->cgroups, name, ret);
}

struct sandbox_handle *sandbox_handle_make(struct run_environment *environment,
                                           const struct sandbox_template *template,
                                           struct fork_server *interpreter,
                                           struct launch_failure *reterr)
{
    struct sandbox_handle *process = new_process(reterr);
    if (!process)
        return NULL;
    if (run_environment_complete(environment, reterr) &&
        run_environment_take_place(environment, template, &process->place, reterr)) {
        process->has_place = true;
        make_group(environment, &process->cgroup);
        if (launch_sandbox(environment, template, interpreter, process, reterr) == 0)
            return process;
        (void)cgroup_remove(&process->cgroup);
    }
    sandbox_handle_free(environment, process);
    return NULL;
}

struct sandbox_handle *sandbox_handle_make_unconfined(struct run_environment *environment,
                                                      struct run_description *description,
                                                      const int fds[RUN_FD_COUNT],
                                                      struct launch_failure *reterr)
{
    struct sandbox_handle *process = new_process(reterr);
    if (!process)
        return NULL;
    if (run_directory_make("/tmp", &process->directory) < 0)
        (void)launch_fail(reterr, LAYER_COUNT, errno, "make the working directory");
    else if (launch_unconfined(description, fds, process, reterr) == 0)
        return process;
    sandbox_handle_free(environment, process);
    return NULL;
}

/* Where the program is another user, reopening /dev/stdout needs the pipe to be its own. */
static void give_pipes(const struct sandbox_handle *process, const int fds[RUN_FD_COUNT])
{
    if (process->place.uid == geteuid())
        return;
    for (int i = RUN_FD_STDOUT; i <= RUN_FD_STDERR; i++) {
        struct stat status;
        if (fstat(fds[i], &status) == 0 && S_ISFIFO(status.st_mode) &&
            fchown(fds[i], process->place.uid, process->place.gid) < 0)
            return; /* writing works without; only the reopening fails */
    }
}

/* The sandbox itself reports which groups it has entered. */
static void note_cgroup(const struct cgroup *cgroup, struct isolation_report *isolation)
{
    isolation->cgroup_has_memory = cgroup->has_memory;
    isolation->cgroup_has_pids = cgroup->has_pids;
    if (cgroup->has_memory || cgroup->has_pids)
        isolation->cgroup_version = cgroup->version;
}

void sandbox_handle_limit(struct sandbox_handle *process, const struct run_limits *limits)
{
    if (limits->memory_bytes == process->limits.memory_bytes &&
        limits->processes == process->limits.processes)
        return;
    process->limits = *limits;
    cgroup_limit(&process->cgroup, limits);
}

static int order_collection(const struct sandbox_handle *process, const int fds[RUN_FD_COUNT])
{
    static const char order = SANDBOX_COLLECT;
    const int given[] = {fds[RUN_FD_DESCRIPTION], fds[RUN_FD_FILES]};
    return channel_send(process->report, &order, sizeof(order), given, COUNT_OF(given));
}

int sandbox_handle_give_run(struct sandbox_handle *process, const struct run_limits *limits,
                            bool collects, const int fds[RUN_FD_COUNT],
                            struct isolation_report *ret)
{
    struct isolation_report isolation = {.outer_uid = process->place.uid};
    give_pipes(process, fds);
    sandbox_handle_limit(process, limits);
    note_cgroup(&process->cgroup, &isolation);
    if (channel_send(process->report, &isolation, sizeof(isolation), &fds[RUN_FD_FIRST_INSIDE],
                     RUN_FD_INSIDE_COUNT) < 0 ||
        (collects && order_collection(process, fds) < 0))
        return -1;
    *ret = isolation;
    return 0;
}

void sandbox_handle_signal(const struct sandbox_handle *process, int signal)
{
    (void)syscall(SYS_pidfd_send_signal, process->pidfd, signal, NULL, 0);
}

void sandbox_handle_discard(const struct sandbox_handle *process)
{
    bool has_namespaces = process->directory.path[0] == '\0';
    if (has_namespaces)
        sandbox_handle_signal(process, SIGKILL);
}

bool sandbox_handle_stirs(const struct sandbox_handle *process)
{
    struct pollfd ready = {.fd = process->report, .events = POLLIN};
    return poll(&ready, 1, 0) != 0;
}

void sandbox_handle_free(struct run_environment *environment, struct sandbox_handle *process)
{
    if (process->has_place)
        run_environment_give_place(environment, process->place.number);
    run_directory_clear(&process->directory);
    close_fd(process->pidfd);
    close_fd(process->report);
    free(process);
}
