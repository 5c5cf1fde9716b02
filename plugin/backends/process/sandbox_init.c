/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns pid 1 of a sandbox: the list of what is put around a run, and its wait for the main program.
 * Runs after the clone, without exec, in namespaces of its own; single-threaded. Everything it
 * holds that came from the supervisor is its own run's.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../cleanup.h"
#include "../../protocol/wire.h"
#include "main_program.h"
#include "sandbox.h"

#define REPORT_FD 3

static const struct step init_steps[] = {
    {LAYER_USER_NAMESPACE, STEP_PART, "check_user_namespace", check_user_namespace},
    {LAYER_PID_NAMESPACE, STEP_COMPLETE, "check_pid_namespace", check_pid_namespace},
    {LAYER_MOUNT_NAMESPACE, STEP_PART, "check_mount_namespace", check_mount_namespace},
    {LAYER_NETWORK_NAMESPACE, STEP_COMPLETE, "check_network_namespace", check_network_namespace},
    {LAYER_IPC_NAMESPACE, STEP_COMPLETE, "check_ipc_namespace", check_ipc_namespace},
    {LAYER_UTS_NAMESPACE, STEP_PART, "check_uts_namespace", check_uts_namespace},
    {LAYER_USER_NAMESPACE, STEP_COMPLETE, "enter_identity", enter_identity},
    {NO_LAYER, STEP_PART, "become_unreadable", become_unreadable},
    {LAYER_USER_NAMESPACE, STEP_TRIED, "disable_nested_namespaces", disable_nested_namespaces},
    {LAYER_UTS_NAMESPACE, STEP_COMPLETE, "set_host_name", set_host_name},
    {LAYER_MOUNT_NAMESPACE, STEP_COMPLETE, "make_mounts_private", make_mounts_private},
    {LAYER_READ_ONLY_ROOT, STEP_PART, "build_view", build_view},
    {LAYER_SCRATCH, STEP_COMPLETE, "mount_scratch", mount_scratch},
    {LAYER_READ_ONLY_ROOT, STEP_PART, "show_read_only_paths", show_read_only_paths},
    {LAYER_READ_ONLY_ROOT, STEP_PART, "show_workspace", show_workspace},
    {LAYER_READ_ONLY_ROOT, STEP_PART, "write_identity_files", write_identity_files},
    {LAYER_READ_ONLY_ROOT, STEP_PART, "make_devices", make_devices},
    {LAYER_PROC, STEP_WANTED, "mount_proc", mount_proc},
    {LAYER_READ_ONLY_ROOT, STEP_PART, "make_view_read_only", make_view_read_only},
    {LAYER_READ_ONLY_ROOT, STEP_COMPLETE, "pivot_into_view", pivot_into_view},
    {NO_LAYER, STEP_PART, "write_files", write_files},
    {LAYER_CGROUP_NAMESPACE, STEP_COMPLETE, "enter_cgroup_namespace", enter_cgroup_namespace},
    {LAYER_CAPABILITIES, STEP_COMPLETE, "drop_capabilities", drop_capabilities},
};

/* Waits until the supervisor has written the id maps and the cgroup. */
static bool wait_for_go(struct sandbox *sandbox)
{
    ssize_t received;
    do
        received = recv(REPORT_FD, &sandbox->isolation, sizeof(sandbox->isolation), 0);
    while (received < 0 && errno == EINTR);
    return received == (ssize_t)sizeof(sandbox->isolation);
}

_Noreturn void sandbox_init(struct run_description *description,
                            const struct seccomp_filters *filters, const struct namespaces *outside)
{
    struct sandbox sandbox = {
        .description = description,
        .filters = filters,
        .outside = outside,
        .report = REPORT_FD,
        .view = -1,
        .listener = -1,
    };
    if (!wait_for_go(&sandbox))
        main_program_fail(REPORT_FD, RUN_FAILURE_INTERNAL, errno, "hear from the supervisor");
    if (sandbox_apply(&sandbox, init_steps, COUNT_OF(init_steps)) < 0)
        _exit(1);
    /* Only now: a change of credentials clears it. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);

    struct main_program program;
    if (main_program_fork(&program) < 0)
        main_program_fail(REPORT_FD, RUN_FAILURE_INTERNAL, errno, "fork");
    if (program.pid == 0) {
        sandbox.report = program.start_report;
        payload_run(&sandbox);
    }
    strings_wipe_free(description->environment);
    /* The rest of the pid namespace, and with it every mount, ends with this process. */
    struct report ended;
    if (main_program_watch(&program, REPORT_FD, &ended)) {
        ended.scratch_full = scratch_is_full();
        (void)report_send(REPORT_FD, &ended);
    }
    _exit(0);
}
