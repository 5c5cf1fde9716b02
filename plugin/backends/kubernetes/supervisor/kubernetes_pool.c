/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the way of a run to a waiting pod, and the removal of waiting pods in favor of runs. A pod
 * is claimed, and gets nothing of the run before the API server has granted the claim. Runs in the
 * kubernetes backend.
 */
#include <time.h>

#include "backends/common/run_answer.h"
#include "backends/guest_runs/pool/pool.h"
#include "backends/kubernetes/supervisor/kubernetes_run.h"
#include "base/cleanup.h"

#define CLAIMS_LIMIT 2 /* for one run: then it gets a pod of its own */
/* After a failed claim that took this long, runs use no waiting pod for a while. The time of a
 * granted one does not count, nor what the run has waited for since. */
#define CLAIM_SLOW_US (UINT64_C(4) * 1000000)

static bool has_claims(const struct engine *cluster)
{
    return monotonic_us() >= cluster->no_claims_until_us;
}

struct container *kubernetes_pool_make(struct guest_environment *environment,
                                       struct warm_pool *warm_pool, uint64_t waiting_s)
{
    if (!has_claims(warm_pool->engine))
        return NULL;
    json_t *config = kubernetes_config_waiting(kubernetes_environment(environment),
                                               warm_pool->template, waiting_s);
    return config ? kubernetes_container_make(warm_pool->engine, config, NULL, warm_pool) : NULL;
}

/* NULL: there is none. A waiting pod cannot serve a session, and a policy that names a pool of
 * agent-sandbox has no pool here. */
static struct container *take_waiting(struct run *run)
{
    if (kubernetes_run(run)->options.warm_pool[0] != '\0' || run->job.session ||
        !pool_serves(&run->description) || !has_claims(run->engine) ||
        kubernetes_run(run)->claims >= CLAIMS_LIMIT)
        return NULL;
    json_auto_t *template = kubernetes_config_template(run);
    return template
               ? pool_take(run->environment, run->engine, &run->description, template, &run->job)
               : NULL;
}

static bool claim(struct run *run)
{
    uint64_t life_s = kubernetes_config_life_s(&run->description);
    int64_t latest =
        (int64_t)time(NULL) + (int64_t)(life_s + POD_MARGIN_S + POD_START_LIMIT_US / 1000000);
    kubernetes_run(run)->claims++;
    kubernetes_run(run)->claimed_us = monotonic_us();
    kubernetes_run_note_pod(run);
    return pod_claim(kubernetes_container(run->container)->pod, run->description.run_id, latest,
                     life_s);
}

static void note_slow_claim(struct run *run)
{
    struct kubernetes_run *own = kubernetes_run(run);
    uint64_t now = monotonic_us();
    if (own->claimed_us && now - own->claimed_us >= CLAIM_SLOW_US)
        run->engine->no_claims_until_us = now + CLUSTER_NO_CLAIMS_US;
    own->claimed_us = 0;
}

void kubernetes_run_get_container(struct run *run)
{
    note_slow_claim(run);
    run->container = take_waiting(run);
    if (!run->container)
        kubernetes_run_make_container(run);
    else if (!claim(run))
        container_fail(run->container, "claim the pod");
}

/* If the quota is used up, a waiting pod is removed first, because runs have precedence. */
bool kubernetes_run_begin_anew(struct run *run, const struct engine_fault *fault)
{
    struct container *waiting =
        fault->problem == API_PROBLEM_QUOTA ? pool_give_up(run->environment, run->engine) : NULL;
    if (!waiting)
        return false;
    container_leave(TAKE_POINTER(run->container));
    run_remove_first(run, waiting);
    return true;
}

void kubernetes_pool_make_room(struct run *run)
{
    struct container *waiting = pool_give_up(run->environment, run->engine);
    if (waiting)
        container_leave(waiting);
}
