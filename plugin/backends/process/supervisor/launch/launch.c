/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the clone of a run's first process: see launch.h. Runs in the supervisor; the child side
 * until it has arranged its descriptors. */
#include "backends/process/supervisor/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/process/program/main_program.h"
#include "backends/process/sandbox/interpreter_command.h"
#include "backends/process/sandbox/sandbox.h"
#include "backends/process/sandbox/sandbox_clone.h"
#include "backends/process/supervisor/cgroup/cgroup_file.h"
#include "backends/process/unconfined/unconfined.h"
#include "base/cleanup.h"

/* Child: 0-2 become the run's. */
static void arrange_streams(const int *fds, int report)
{
    if (dup2(fds[RUN_FD_STDIN], STDIN_FILENO) < 0 || dup2(fds[RUN_FD_STDOUT], STDOUT_FILENO) < 0 ||
        dup2(fds[RUN_FD_STDERR], STDERR_FILENO) < 0)
        main_program_fail(report, RUN_FAILURE_INTERNAL, errno, "arrange descriptors");
}

/* Child: what a subreaper keeps beside 0-2, behind arrange_streams(). All other descriptors are the
 * supervisor's. */
static void keep_descriptors(const int *fds, int report)
{
    /* Out of the way of the others first. */
    int inputs = fcntl(fds[RUN_FD_INPUTS], F_DUPFD_CLOEXEC, RUN_RESULTS_FD + 1);
    int files = fcntl(fds[RUN_FD_FILES], F_DUPFD_CLOEXEC, RUN_RESULTS_FD + 1);
    if (inputs < 0 || files < 0 || dup2(report, CHILD_REPORT_FD) < 0 ||
        dup2(fds[RUN_FD_RESULTS], RUN_RESULTS_FD) < 0 || dup2(inputs, UNCONFINED_INPUTS_FD) < 0 ||
        dup3(files, UNCONFINED_FILES_FD, O_CLOEXEC) < 0 ||
        fcntl(CHILD_REPORT_FD, F_SETFD, FD_CLOEXEC) < 0 || fcntl(RUN_RESULTS_FD, F_SETFD, 0) < 0 ||
        close_range(UNCONFINED_FILES_FD + 1, RUN_RESULTS_FD - 1, 0) < 0 ||
        close_range(RUN_RESULTS_FD + 1, ~0U, 0) < 0)
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

static int write_map(const char *directory, const char *file, uint32_t outer)
{
    char map[64];
    (void)snprintf(map, sizeof(map), "%u %u 1", SANDBOX_UID, outer);
    return cgroup_file_write(directory, file, map);
}

/* user_namespaces(7): a process that may not map others may map its own group only after
 * setgroups(2) is off. */
static int write_identity(pid_t pid, const struct sandbox_place *place,
                          struct launch_failure *reterr)
{
    char directory[32];
    (void)snprintf(directory, sizeof(directory), "/proc/%d", (int)pid);
    if (cgroup_file_write(directory, "setgroups", "deny") < 0)
        return launch_fail(reterr, LAYER_USER_NAMESPACE, errno, "write setgroups");
    if (write_map(directory, "uid_map", place->uid) < 0)
        return launch_fail(reterr, LAYER_USER_NAMESPACE, errno, "write uid_map");
    if (write_map(directory, "gid_map", place->gid) < 0)
        return launch_fail(reterr, LAYER_USER_NAMESPACE, errno, "write gid_map");
    return 0;
}

/* It enters its control groups itself: the kernel may take its time over that. */
static int let_go_on(struct cgroup *cgroup, const struct sandbox_template *template, int report,
                     struct launch_failure *reterr)
{
    int given[CGROUP_ENTRANCES + 1];
    size_t count = cgroup_open_entrances(cgroup, given);
    bool has_intake = template->endpoints && template->endpoints_fd >= 0;
    const struct sandbox_go go = {
        .has_memory = cgroup->has_memory,
        .has_pids = cgroup->has_pids,
        .group_count = (uint32_t)count,
        .has_intake = has_intake,
        .input_bytes = template->input_bytes,
        .tells_peak = cgroup_tells_peak(cgroup),
    };
    if (has_intake)
        given[count] = template->endpoints_fd;
    int result = channel_send(report, &go, sizeof(go), given, count + has_intake);
    for (size_t i = 0; i < count; i++)
        close_fd(given[i]);
    return result < 0 ? launch_fail(reterr, LAYER_COUNT, errno, "release init") : 0;
}

/* The child. */
static _Noreturn void be_sandbox(const struct run_environment *environment,
                                 const struct sandbox_template *template, const char *directory,
                                 int report)
{
    struct sandbox sandbox;
    arrange_report(report);
    sandbox_init(template, &environment->filters, &environment->namespaces, directory, NULL,
                 &sandbox);
    _exit(1);
}

/* In the first of its places that lets it. */
static int make_directory(const struct sandbox_template *template, struct sandbox_handle *process,
                          struct launch_failure *reterr)
{
    const char *places[RUN_DIRECTORY_PLACES];
    size_t count = run_directory_places(template->scratch_directory, places);
    for (size_t i = 0; i < count; i++)
        if (run_directory_make_own(places[i], &process->directory) == 0)
            return 0;
    return launch_fail(reterr, LAYER_COUNT, errno, "make the run's directory");
}

int launch_sandbox(const struct run_environment *environment,
                   const struct sandbox_template *template, struct fork_server *interpreter,
                   struct sandbox_handle *process, struct launch_failure *reterr)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return launch_fail(reterr, LAYER_COUNT, errno, "socketpair");
    CLEANUP_CLOSE int report = pair[0];
    CLEANUP_CLOSE int child_report = pair[1];
    bool has_namespaces = blueprint_of(template->isolation)->dies_with_init;
    unsigned long flags = sandbox_namespace_flags(template);
    int pidfd = -1;
    if (!has_namespaces && make_directory(template, process, reterr) < 0)
        return -1;
    /* Read here: the run's own user may not be allowed to. */
    (void)interpreter_files(template->runner);
    (void)interpreter_files_directory();
    if (template->tool_command)
        (void)interpreter_tool_command();
    if (template->installer_commands)
        (void)interpreter_installers();
    pid_t pid = interpreter
                    ? fork_server_copy(interpreter, process->directory.path, child_report, &pidfd)
                    : clone_sandbox(flags, &pidfd);
    int error = errno;
    if (pid == 0)
        be_sandbox(environment, template, process->directory.path, child_report);
    if (pid < 0)
        return launch_fail(reterr,
                           error == EAGAIN || error == ENOMEM || !has_namespaces
                               ? LAYER_COUNT
                               : refused_namespace(flags),
                           error, "clone");
    CLEANUP_CLOSE int owned_pidfd = pidfd;
    if ((has_namespaces && write_identity(pid, &process->place, reterr) < 0) ||
        let_go_on(&process->cgroup, template, report, reterr) < 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return -1;
    }
    process->pid = pid;
    process->pidfd = TAKE_FD(owned_pidfd);
    process->report = TAKE_FD(report);
    return 0;
}

int launch_unconfined(struct run_description *description, const int fds[RUN_FD_COUNT],
                      struct sandbox_handle *process, struct launch_failure *reterr)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return launch_fail(reterr, LAYER_COUNT, errno, "socketpair");
    CLEANUP_CLOSE int report = pair[0];
    CLEANUP_CLOSE int child_report = pair[1];
    int pidfd = -1;
    pid_t pid = clone_process(0, &pidfd);
    if (pid < 0)
        return launch_fail(reterr, LAYER_COUNT, errno, "clone");
    if (pid == 0) {
        arrange_streams(fds, child_report);
        keep_descriptors(fds, child_report);
        unconfined_keep(description, process->directory.path);
    }
    process->pid = pid;
    process->pidfd = pidfd;
    process->report = TAKE_FD(report);
    return 0;
}
