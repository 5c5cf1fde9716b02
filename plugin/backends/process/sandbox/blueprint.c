/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the two kinds of sandboxes, as lists of the layers that each has. The steps run in the init
 * and in the payload of a sandbox, single-threaded, after the clone.
 */
#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"

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
    {LAYER_ENDPOINT_BROKER, STEP_PART, "raise_loopback", raise_loopback},
    {LAYER_ENDPOINT_BROKER, STEP_TRIED, "limit_socket_memory", limit_socket_memory},
    {LAYER_ENDPOINT_BROKER, STEP_COMPLETE, "hand_over_endpoints", hand_over_endpoints},
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

/* Steps that need no run, so that a sandbox can be ready before there is one. */
static const struct step ready_steps[] = {
    {NO_LAYER, STEP_PART, "start_session", start_session},
    {NO_LAYER, STEP_PART, "close_other_descriptors", close_other_descriptors},
    {NO_LAYER, STEP_PART, "enter_home", enter_home},
    {NO_LAYER, STEP_PART, "become_readable_again", become_readable_again},
    {LAYER_NO_NEW_PRIVILEGES, STEP_COMPLETE, "forbid_new_privileges", forbid_new_privileges},
    {LAYER_LANDLOCK, STEP_WANTED, "restrict_by_landlock", restrict_by_landlock},
    {LAYER_SECCOMP, STEP_PART, "restrict_system_calls", restrict_system_calls},
    {LAYER_SECCOMP, STEP_COMPLETE, "hand_over_listener", hand_over_listener},
};

static const struct step run_steps[] = {
    {NO_LAYER, STEP_PART, "write_files", write_files},
    {LAYER_RESOURCE_LIMITS, STEP_COMPLETE, "limit_resources", limit_resources},
};

const struct blueprint namespaces_blueprint = {
    .init = {init_steps, COUNT_OF(init_steps)},
    .ready = {ready_steps, COUNT_OF(ready_steps)},
    .run = {run_steps, COUNT_OF(run_steps)},
    .mandatory_layers = LAYERS_MANDATORY,
    .has_own_user = true,
    .dies_with_init = true,
};

/* Without namespaces and mounts, which need a privilege: two Landlock domains, one in the other.
 * The init is in the outer one alone, so it can signal and look at its tree and nothing else; the
 * tree reaches neither the init nor anything outside. */
static const struct step unprivileged_init_steps[] = {
    {LAYER_RESOURCE_LIMITS, STEP_PART, "check_supervision", check_supervision},
    {NO_LAYER, STEP_PART, "note_inheritance", note_inheritance},
    {LAYER_CGROUP, STEP_WANTED, "enter_control_groups", enter_control_groups},
    {NO_LAYER, STEP_PART, "become_subreaper", become_subreaper},
    {NO_LAYER, STEP_TRIED, "become_prompt", become_prompt},
    {NO_LAYER, STEP_PART, "become_unreadable", become_unreadable},
    {LAYER_CAPABILITIES, STEP_COMPLETE, "clear_capabilities", clear_capabilities},
    {LAYER_NO_NEW_PRIVILEGES, STEP_COMPLETE, "forbid_new_privileges", forbid_new_privileges},
    {LAYER_LANDLOCK, STEP_PART, "enter_outer_domain", enter_outer_domain},
    {NO_LAYER, STEP_PART, "start_guardian", start_guardian},
};

static const struct step unprivileged_ready_steps[] = {
    {NO_LAYER, STEP_PART, "start_session", start_session},
    {NO_LAYER, STEP_PART, "close_other_descriptors", close_other_descriptors},
    {NO_LAYER, STEP_PART, "enter_home", enter_home},
    {NO_LAYER, STEP_TRIED, "become_first_victim", become_first_victim},
    {NO_LAYER, STEP_PART, "adopt_for_shell", adopt_for_shell},
    {LAYER_LANDLOCK, STEP_COMPLETE, "enter_inner_domain", enter_inner_domain},
    {LAYER_SECCOMP, STEP_PART, "restrict_system_calls", restrict_system_calls},
    {LAYER_SECCOMP, STEP_COMPLETE, "hand_over_listener", hand_over_listener},
};

const struct blueprint unprivileged_blueprint = {
    .init = {unprivileged_init_steps, COUNT_OF(unprivileged_init_steps)},
    .ready = {unprivileged_ready_steps, COUNT_OF(unprivileged_ready_steps)},
    .run = {run_steps, COUNT_OF(run_steps)},
    .mandatory_layers = LAYERS_UNPRIVILEGED,
    .impossible_layers = LAYERS_EVERY_RUN & ~LAYERS_UNPRIVILEGED & ~LAYER_BIT(LAYER_CGROUP),
};

const struct blueprint *blueprint_of(uint32_t kind)
{
    return kind == RUN_ISOLATION_UNPRIVILEGED ? &unprivileged_blueprint : &namespaces_blueprint;
}
