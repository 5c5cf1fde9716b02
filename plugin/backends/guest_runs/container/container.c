/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the life of one container but for the requests, which are the provider's: see container.h.
 * Runs in a backend of containers. */
#include "backends/guest_runs/container/container.h"

#include "backends/common/run_answer.h"
#include "base/cleanup.h"

#define REMOVE_PAUSE_US  100000 /* between attempts: the engine may be removing it already */
#define REMOVE_ATTEMPTS  50
#define RETRIED_ATTEMPTS 10      /* for a run that waits for the removal */
#define STUCK_PAUSE_US   1000000 /* between attempts that no run waits for */
#define STREAM_REST_US   2000000 /* from the removal to the end of the stream */

static const struct guest_provider *provider_of(const struct container *container)
{
    return container->environment->provider;
}

void container_begin(struct container *container, struct guest_environment *environment,
                     struct engine *engine, struct container_job *job, struct warm_pool *warm_pool)
{
    container->environment = environment;
    container->engine = engine;
    container->job = job;
    container->warm_pool = warm_pool;
    container->warm = warm_pool != NULL;
    container->made_us = monotonic_us();
    container->deadline_us = warm_pool ? container->made_us + CONTAINER_START_LIMIT_US : 0;
}

/* At the end: a walk of the list that is under way meets it. */
void container_add(struct container *container)
{
    struct container **place = &container->environment->containers;
    while (*place)
        place = &(*place)->next;
    *place = container;
}

void container_fail_alone(struct container *container, enum run_failure failure,
                          const struct engine_fault *fault)
{
    if (container->warm_pool)
        container->environment->events->lost(container);
    if (container->job)
        container->environment->events->failed(container->job->run, failure, fault);
    else
        container_remove(container);
}

void container_fail(struct container *container, const char *message)
{
    struct engine_fault fault;
    engine_fault_set(&fault, FAULT_NONE, "%s", message);
    container_fail_alone(container, RUN_FAILURE_INTERNAL, &fault);
}

void container_fail_engine(struct container *container, const struct engine_fault *fault)
{
    provider_of(container)->doubt(container->engine); /* whatever it was, look again */
    container_fail_alone(container, RUN_FAILURE_BACKEND, fault);
}

void container_removed(struct container *container)
{
    container->removed = true;
    container->deadline_us = monotonic_us() + STREAM_REST_US;
    if (!container->stream.taken_over)
        container_stream_close(container);
    container_check_end(container);
}

/* Tells the run that waits for it. Attempts go on as long as there is a backend. */
static void give_up_removal(struct container *container)
{
    struct engine_fault fault;
    struct container_job *job = TAKE_POINTER(container->job);
    engine_fault_set(&fault, FAULT_SILENT, "%s does not remove the container %s",
                     provider_of(container)->name, container->name);
    container_stream_close(container);
    container->removed = container->environment->closing;
    container->deadline_us = monotonic_us() + STUCK_PAUSE_US;
    if (job)
        container->environment->events->gone(job->run, &fault);
}

void container_not_removed(struct container *container)
{
    if (++container->attempts < REMOVE_ATTEMPTS)
        container->deadline_us = monotonic_us() + REMOVE_PAUSE_US;
    else
        give_up_removal(container);
}

void container_remove(struct container *container)
{
    bool first = !container->removing;
    container->removing = true;
    if (container->removed || container->creating)
        return;
    if (!first && provider_of(container)->is_asking(container)) {
        /* It may be asking for something else. */
        container->deadline_us = monotonic_us() + REMOVE_PAUSE_US;
        return;
    }
    container->deadline_us = 0;
    if (!provider_of(container)->remove(container))
        container->deadline_us = monotonic_us() + REMOVE_PAUSE_US;
}

void container_leave(struct container *container)
{
    container->job = NULL;
    if (container->warm_pool)
        container->environment->events->lost(container);
    container_stream_close(container);
    container_remove(container);
}

struct container *container_stuck(const struct guest_environment *environment,
                                  const struct engine *engine)
{
    for (struct container *container = environment->containers; container;
         container = container->next)
        if (container->engine == engine && !container->job && !container->removed &&
            container->attempts >= REMOVE_ATTEMPTS)
            return container;
    return NULL;
}

void container_retry(struct container *container, struct container_job *job)
{
    container->job = job;
    container->attempts = REMOVE_ATTEMPTS - RETRIED_ATTEMPTS;
    container_remove(container);
}

size_t container_count_leaving(const struct guest_environment *environment)
{
    size_t count = 0;
    for (const struct container *container = environment->containers; container;
         container = container->next)
        count += container->removing && !container->job;
    return count;
}

void container_handle(struct container *container)
{
    container_stream_handle(container);
    container_check_end(container);
}

void container_expire(struct container *container)
{
    container->deadline_us = 0;
    if (container->removed) {
        /* The engine has removed the container but not ended its stream. */
        container_stream_close(container);
        container_check_end(container);
    } else if (container->removing) {
        container_remove(container);
    } else {
        container_fail(container, "it has waited for too long");
    }
}

bool container_is_over(const struct container *container)
{
    return container->removed && !container->job;
}

void container_free(struct container *container)
{
    container_stream_close(container);
    provider_of(container)->free_container(container);
}
