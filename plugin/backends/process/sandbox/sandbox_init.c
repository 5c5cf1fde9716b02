/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns pid 1 of a sandbox: the list of its layers, and the wait for the main program. Runs after
 * the clone, without exec, in namespaces of its own; single-threaded. It serves one run, whose
 * description it never sees.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/common/run_input.h"
#include "backends/process/program/main_program.h"
#include "backends/process/program/single_process_fast_path.h"
#include "backends/process/sandbox/cell_files.h"
#include "backends/process/sandbox/interpreter_command.h"
#include "backends/process/sandbox/sandbox.h"
#include "backends/process/sandbox/session_program.h"
#include "base/cleanup.h"
#include "guest/files/collection.h"
#include "protocol/channel.h"

#define REPORT_FD 3

static const struct step init_steps[] = {
    {LAYER_USER_NAMESPACE, STEP_PART, "check_user_namespace", check_user_namespace},
    {LAYER_PID_NAMESPACE, STEP_COMPLETE, "check_pid_namespace", check_pid_namespace},
    {LAYER_MOUNT_NAMESPACE, STEP_PART, "check_mount_namespace", check_mount_namespace},
    {LAYER_NETWORK_NAMESPACE, STEP_COMPLETE, "check_network_namespace", check_network_namespace},
    {LAYER_IPC_NAMESPACE, STEP_COMPLETE, "check_ipc_namespace", check_ipc_namespace},
    {LAYER_UTS_NAMESPACE, STEP_PART, "check_uts_namespace", check_uts_namespace},
    {LAYER_CGROUP, STEP_WANTED, "enter_control_groups", enter_control_groups},
    {LAYER_USER_NAMESPACE, STEP_COMPLETE, "enter_identity", enter_identity},
    {NO_LAYER, STEP_PART, "become_unreadable", become_unreadable},
    {LAYER_USER_NAMESPACE, STEP_TRIED, "disable_nested_namespaces", disable_nested_namespaces},
    {LAYER_UTS_NAMESPACE, STEP_COMPLETE, "set_host_name", set_host_name},
    {LAYER_MOUNT_NAMESPACE, STEP_COMPLETE, "make_mounts_private", make_mounts_private},
    {LAYER_READ_ONLY_ROOT, STEP_PART, "build_view", build_view},
    {LAYER_SCRATCH, STEP_COMPLETE, "mount_scratch", mount_scratch},
    {LAYER_READ_ONLY_ROOT, STEP_PART, "show_read_only_paths", show_read_only_paths},
    {LAYER_READ_ONLY_ROOT, STEP_PART, "show_workspace", show_workspace},
    {LAYER_READ_ONLY_ROOT, STEP_PART, "show_interpreter_files", show_interpreter_files},
    {LAYER_READ_ONLY_ROOT, STEP_PART, "write_identity_files", write_identity_files},
    {LAYER_READ_ONLY_ROOT, STEP_PART, "make_devices", make_devices},
    {LAYER_PROC, STEP_WANTED, "mount_proc", mount_proc},
    {LAYER_READ_ONLY_ROOT, STEP_PART, "make_view_read_only", make_view_read_only},
    {LAYER_READ_ONLY_ROOT, STEP_COMPLETE, "pivot_into_view", pivot_into_view},
    {LAYER_CGROUP_NAMESPACE, STEP_COMPLETE, "enter_cgroup_namespace", enter_cgroup_namespace},
    {LAYER_CAPABILITIES, STEP_COMPLETE, "drop_capabilities", drop_capabilities},
};

/* Waits until the supervisor has written the id maps and made the control groups. */
static bool wait_for_go(struct sandbox *sandbox)
{
    size_t count;
    ssize_t received;
    do
        received = channel_receive(REPORT_FD, &sandbox->go, sizeof(sandbox->go), sandbox->groups,
                                   SANDBOX_GROUPS, &count);
    while (received < 0 && errno == EINTR);
    errno = received < 0 ? errno : EBADMSG;
    return received == sizeof(sandbox->go) && count == sandbox->go.group_count;
}

/* Kills the processes that the main program has left behind; orphans are children of this process.
 * The supervisor can then answer, however long the kernel takes to free the namespaces. */
static void end_tree(struct report *ended)
{
    struct rusage usage;
    if (getpid() != 1) /* "all processes" would be others' */
        return;
    /* Usually none is left, and kill(2) would go through every process of the machine. */
    pid_t pid = waitpid(-1, NULL, __WALL | WNOHANG);
    if (pid >= 0 || errno != ECHILD) {
        (void)kill(-1, SIGKILL);
        while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
            ;
    }
    if (errno != ECHILD || getrusage(RUSAGE_CHILDREN, &usage) < 0)
        return;
    ended->tree_is_gone = true;
    ended->usage = tree_usage_of(&usage);
}

/* Nothing that could change a file is left: at most a process that was killed while the kernel held
 * its call, which goes through no further instruction. The supervisor knows the end by now and
 * waits for none of this. */
static void hand_over_files(bool ordered)
{
    CLEANUP(run_description_clear) struct run_description description = {.file_count = 0};
    char order;
    int fds[2] = {-1, -1};
    size_t count = 0;
    ssize_t received;
    do
        received = channel_receive(REPORT_FD, &order, sizeof(order), fds, COUNT_OF(fds), &count);
    while (received < 0 && errno == EINTR);
    CLEANUP_CLOSE int message = fds[0];
    CLEANUP_CLOSE int frames = fds[1];
    if (received != sizeof(order) || order != SANDBOX_COLLECT || count != COUNT_OF(fds) ||
        !run_read_description(message, &description))
        return;
    CLEANUP_CLOSE int home = open(SANDBOX_HOME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct collection_order collected = {&description.outputs, description.files,
                                               description.file_count, ordered, NULL};
    const struct file_frame_sink sink = file_frames_to_pipe(&frames);
    if (home >= 0)
        collect_files(home, &collected, &sink);
}

/* Waits until the supervisor has answered and closes its end: the kernel's work at the end of this
 * process would keep a processor from it for a millisecond. */
static void await_dismissal(void)
{
    char nothing;
    while (recv(REPORT_FD, &nothing, sizeof(nothing), 0) < 0 && errno == EINTR)
        ;
}

/* Only the init of a copied interpreter resets its handlers; the payload keeps them. */
static void forget_signal_handlers(void)
{
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
}

static _Noreturn void see_to_its_end(struct main_program *program)
{
    struct report ended;
    if (main_program_watch(program, REPORT_FD, &ended)) {
        ended.scratch_full = scratch_is_full();
        if (!ended.tree_is_gone)
            end_tree(&ended);
        (void)report_send(REPORT_FD, &ended);
        if (ended.kind == REPORT_ENDED && ended.tree_is_gone) {
            hand_over_files(ended.ordered != 0);
            await_dismissal();
        }
    }
    /* The rest of the namespaces ends with this process. */
    _exit(0);
}

void sandbox_init(const struct sandbox_template *template, const struct seccomp_filters *filters,
                  const struct namespaces *outside, struct sandbox *ret)
{
    struct sandbox sandbox = {
        .template = template,
        .filters = filters,
        .outside = outside,
        .report = REPORT_FD,
        .inputs = -1,
        .view = -1,
        .listener = -1,
        .proc = -1,
        .files = INTERPRETER_FILES_VIEW,
    };
    int loadavg = template->interpreter.fork ? single_process_fast_path_open() : -1;
    if (!wait_for_go(&sandbox))
        main_program_fail(REPORT_FD, RUN_FAILURE_INTERNAL, errno, "wait for the supervisor");
    if (sandbox_apply(&sandbox, init_steps, COUNT_OF(init_steps)) < 0)
        _exit(1);
    /* Only now: a change of credentials clears it. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct main_program program;
    if (main_program_fork(&program) < 0)
        main_program_fail(REPORT_FD, RUN_FAILURE_INTERNAL, errno, "fork");
    if (program.pid != 0) {
        program.is_filtered = true;
        program.checkpoints.order.proc = sandbox.proc;
        program.checkpoints.needs_order = sandbox.isolation.cgroup_has_memory;
        program.scratch_is_full = scratch_is_full;
        program.collect_cell = cell_files_collect;
        program.note_files = cell_files_note;
        program.add_program = session_program_add;
        session_program_init(&sandbox);
        if (template->interpreter.fork) {
            forget_signal_handlers();
            program.may_ask = true;
            program.loadavg = loadavg;
            program.memory_is_counted =
                sandbox.isolation.cgroup_has_memory && sandbox.go.tells_peak;
        }
        see_to_its_end(&program);
    }
    sandbox.report = program.start_report;
    sandbox.supervisor = REPORT_FD;
    payload_run(&sandbox);
    *ret = sandbox;
}
