/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the decisions that need the reports of both engine and guest: a container is ready, its
 * program has ended, or it has failed (see container.h). Runs in a backend of containers. */
#include "backends/guest_runs/container/container.h"

#include <stdio.h>

#include "base/cleanup.h"

static bool is_end_known(const struct container *container)
{
    return container->end.reported || (container->waited && container->stream.over);
}

bool container_end_last_look(struct container *container)
{
    if (!is_end_known(container) || container->looked || container->removing)
        return false;
    container->environment->provider->stop_asking(container);
    container->end.memory_killed = container->memory_killed;
    container->looked = true;
    container_check_end(container);
    return true;
}

/* After a bad end of its own the guest ends too: only then does the engine say whether that was for
 * want of memory. */
static void tell_end(struct container *container)
{
    const struct container_end *end = &container->end;
    const struct guest_provider *provider = container->environment->provider;
    bool asks = !container_end_is_good(end) && (!provider->asks_after || provider->asks_after(end));
    if (asks && !container->looked && !container->ordered) {
        if (container->waited && !provider->is_asking(container))
            provider->read_end(container);
    } else if (container_end_is_explained(end)) {
        container->told = true;
        container->environment->events->ended(container->job->run);
    } else {
        container_fail(container, "the container's first process has ended without a report");
    }
}

static bool is_finished(const struct container *container)
{
    const struct container_stream *stream = &container->stream;
    return !container->job->collects || stream->collected || stream->over;
}

/* The guest exits after a bad end; until then it may send more frames. */
static void acknowledge(struct container *container)
{
    if (!container->environment->provider->is_distant || container->acknowledged ||
        !container->end.reported || !is_finished(container))
        return;
    container->acknowledged = true;
    container->job->order_count = 0;
    for (size_t i = 0; i < GUEST_TAKEN_LENGTH; i++)
        (void)container_send_order(container, GUEST_TAKEN[i]);
}

static void check_end_of_program(struct container *container)
{
    acknowledge(container);
    if (!container->told && is_end_known(container))
        tell_end(container);
    if (container->told && container->job && is_finished(container))
        container->environment->events->finished(container->job->run);
}

static void check_readiness(struct container *container)
{
    if (container->running && container->stream.waiting &&
        guest_facts_suffice(container->stream.facts))
        container->environment->events->ready(container);
}

/* A container that was made ahead of need is given up at the first sign of an end. Where it serves
 * a run, its stream is read to the end first: that may be all the output of a program. */
static bool has_ended_unused(const struct container *container)
{
    bool over = container->stream.over;
    if (!container->warm)
        return container->waited && over;
    return over || (container->waited && !container->job);
}

void container_check_end(struct container *container)
{
    if (container->removed) {
        if (container->job && container->stream.over)
            container->environment->events->gone(container->job->run, NULL);
        return;
    }
    if (container->removing)
        return;
    if (container->job && container->job->started) {
        check_end_of_program(container);
    } else if (has_ended_unused(container)) {
        char message[sizeof(((struct engine_fault *)0)->message)];
        (void)snprintf(message, sizeof(message),
                       "the container's set-up ended with status %d: %.150s",
                       (int)container->end.status, container->stream.errors);
        container_fail(container, message);
    } else if (container->warm_pool && !container->ready) {
        check_readiness(container);
    }
}
