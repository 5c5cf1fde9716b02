/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which layers a pod's program has: see kubernetes_run.h. Runs in the kubernetes
 * backend. */
#include <stdio.h>

#include "backends/common/run_answer.h"
#include "backends/kubernetes/supervisor/kubernetes_run.h"
#include "base/cleanup.h"

/* Layers of which the pod, as the API server has it, and the process itself have given evidence.
 * The path of its control group is the node's choice to show. */
static uint64_t layers_of(struct run *run)
{
    static const uint64_t attested =
        LAYER_BIT(LAYER_PID_NAMESPACE) | LAYER_BIT(LAYER_MOUNT_NAMESPACE) |
        LAYER_BIT(LAYER_IPC_NAMESPACE) | LAYER_BIT(LAYER_UTS_NAMESPACE) | LAYER_BIT(LAYER_CGROUP) |
        LAYER_BIT(LAYER_READ_ONLY_ROOT) | LAYER_BIT(LAYER_SCRATCH) | LAYER_BIT(LAYER_PROC) |
        LAYER_BIT(LAYER_CAPABILITIES) | LAYER_BIT(LAYER_RESOURCE_LIMITS) |
        LAYER_BIT(LAYER_NO_NEW_PRIVILEGES) | LAYER_BIT(LAYER_SECCOMP);
    uint64_t given = attested;
    if (run->description.endpoints)
        given |= LAYER_BIT(LAYER_ENDPOINT_BROKER);
    if (run->container->stream.landlock_abi)
        given |= LAYER_BIT(LAYER_LANDLOCK);
    if (kubernetes_run(run)->network.proof == NETWORK_CLOSED)
        given |= LAYER_BIT(LAYER_NETWORK_NAMESPACE);
    return given |
           (kubernetes_run(run)->options.user_namespace ? LAYER_BIT(LAYER_USER_NAMESPACE) : 0);
}

/* The pod of a claim has a name of the controller's. */
static void note_inside(struct run *run)
{
    struct kubernetes_run *own = kubernetes_run(run);
    bool is_gvisor = run->container->stream.facts & GUEST_FACT_BIT(GUEST_FACT_GVISOR);
    own->network = network_check_verdict(run->container);
    struct kubernetes_report report = kubernetes_report_read(&run->event.details);
    (void)snprintf(report.pod, sizeof(report.pod), "%.63s",
                   pod_name(kubernetes_container_pod(kubernetes_container(run->container))));
    (void)snprintf(report.kernel, sizeof(report.kernel), "%s",
                   is_gvisor ? GUEST_KERNEL_GVISOR : GUEST_KERNEL_LINUX);
    report.network_proof = own->network.proof;
    (void)snprintf(report.network_reason, sizeof(report.network_reason), "%.*s",
                   NETWORK_REASON_SIZE - 1, own->network.why);
    kubernetes_report_write(&report, &run->event.details);
}

bool kubernetes_run_judge(struct run *run, struct isolation_report *report)
{
    struct engine_fault fault;
    if (!run->container->stream.is_known_guest) {
        engine_fault_set(&fault, API_PROBLEM_GUEST,
                         "the image %.120s has another guest than this installation",
                         run->description.image.name);
        run_fail_engine(run, &fault);
        return false;
    }
    note_inside(run);
    run->deadline_us = monotonic_us() + CONTAINER_START_LIMIT_US; /* its pod was waited for apart */
    report->applied = layers_of(run);
    report->outer_uid = kubernetes_run(run)->options.user_namespace ? 0 : POD_USER;
    report->cgroup_has_pids = 0; /* it is the kubelet's, for all pods alike */
    return true;
}

const char *kubernetes_run_explain_layer(const struct run *run, enum isolation_layer layer)
{
    const struct kubernetes_run *own = (const struct kubernetes_run *)run;
    return layer == LAYER_NETWORK_NAMESPACE && own->network.why[0] ? own->network.why : NULL;
}
