/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which layers a container's program has: see docker_run.h. Runs in the docker
 * backend. */
#include "backends/docker/container/container_config.h"
#include "backends/docker/run/docker_run.h"
#include "base/cleanup.h"

/* Layers of which both the engine's description and the process itself, or the engine's own facts,
 * have given evidence. */
static uint64_t layers_of(const struct run *run)
{
    static const uint64_t attested =
        LAYER_BIT(LAYER_PID_NAMESPACE) | LAYER_BIT(LAYER_MOUNT_NAMESPACE) |
        LAYER_BIT(LAYER_NETWORK_NAMESPACE) | LAYER_BIT(LAYER_IPC_NAMESPACE) |
        LAYER_BIT(LAYER_UTS_NAMESPACE) | LAYER_BIT(LAYER_CGROUP) |
        LAYER_BIT(LAYER_CGROUP_NAMESPACE) | LAYER_BIT(LAYER_READ_ONLY_ROOT) |
        LAYER_BIT(LAYER_SCRATCH) | LAYER_BIT(LAYER_PROC) | LAYER_BIT(LAYER_CAPABILITIES) |
        LAYER_BIT(LAYER_RESOURCE_LIMITS) | LAYER_BIT(LAYER_NO_NEW_PRIVILEGES) |
        LAYER_BIT(LAYER_SECCOMP);
    uint64_t given =
        run->description.network ? attested & ~LAYER_BIT(LAYER_NETWORK_NAMESPACE) : attested;
    if (run->description.endpoints)
        given |= LAYER_BIT(LAYER_ENDPOINT_BROKER);
    if (run->container->stream.landlock_abi)
        given |= LAYER_BIT(LAYER_LANDLOCK);
    /* It shows the container's path on the machine. */
    if (run->container->stream.facts & GUEST_FACT_BIT(GUEST_FACT_GVISOR))
        given &= ~LAYER_BIT(LAYER_CGROUP_NAMESPACE);
    return given | (run->engine->facts.user_namespace ? LAYER_BIT(LAYER_USER_NAMESPACE) : 0);
}

/* Guest and engine must both say that it is gVisor's: its containers have no filter of the engine,
 * and what a container may read of Linux' log can be anybody's. */
static bool check_kernel(struct run *run, bool is_gvisor)
{
    struct engine_fault fault;
    if (is_gvisor ==
        engine_facts_runtime_is_gvisor(&run->engine->facts, docker_run(run)->options.runtime))
        return true;
    engine_fault_set(
        &fault, ENGINE_PROBLEM_ALTERED,
        is_gvisor ? "the container's kernel is gVisor's, and its runtime is not by name and path"
                  : "the runtime is gVisor's by its name, and the container's kernel is not");
    run_fail_engine(run, &fault);
    return false;
}

bool docker_run_judge(struct run *run, struct isolation_report *report)
{
    bool is_gvisor = run->container->stream.facts & GUEST_FACT_BIT(GUEST_FACT_GVISOR);
    if (!check_kernel(run, is_gvisor))
        return false;
    engine_report_note_kernel(is_gvisor ? GUEST_KERNEL_GVISOR : GUEST_KERNEL_LINUX,
                              &run->event.details);
    report->applied = layers_of(run);
    report->cgroup_version = run->engine->facts.cgroup_version;
    report->outer_uid = run->engine->facts.user_namespace ? 0 : CONTAINER_USER;
    return true;
}
