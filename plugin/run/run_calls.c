/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the serving of a program's calls in the loops around a run and a cell: see run_calls.h. Runs
 * in the gateway, on the thread inside tool_invoke(). */
#include "run/run_calls.h"

#include "base/deadline.h"
#include "protocol/channel.h"
#include "protocol/run_event.h"

static bool is_held(const struct call_service *service)
{
    return monotonic_ms() < service->held_ms;
}

int call_service_wake_fd(const struct call_service *service)
{
    return service->calls ? service->calls->wake_fd : -1;
}

int call_service_writable_fd(const struct call_service *service, int answers)
{
    const struct run_calls *calls = service->calls;
    bool writes = calls && answers >= 0 && !is_held(service) && calls->has_output(calls->user);
    return writes ? answers : -1;
}

uint64_t call_service_due_ms(const struct call_service *service)
{
    const struct run_calls *calls = service->calls;
    if (!calls)
        return UINT64_MAX;
    uint64_t due_ms = calls->due_ms(calls->user);
    return is_held(service) && service->held_ms < due_ms ? service->held_ms : due_ms;
}

bool call_service_serve(struct call_service *service, int answers)
{
    const struct run_calls *calls = service->calls;
    return !calls || calls->serve(calls->user, is_held(service) ? -1 : answers);
}

void call_service_tell_waiting(struct call_service *service, int events, uint64_t wait_limit_ms,
                               uint64_t *deadline_ms)
{
    const struct run_calls *calls = service->calls;
    bool waits = calls && calls->is_waiting(calls->user);
    const unsigned char order = waits ? RUN_ORDER_WAITS : RUN_ORDER_GOES_ON;
    if (waits == service->told_waiting)
        return;
    service->told_waiting = waits;
    (void)channel_send(events, &order, sizeof(order), NULL, 0);
    if (!service->waited && *deadline_ms != UINT64_MAX)
        *deadline_ms += wait_limit_ms;
    service->waited = true;
}

void call_service_stop(struct call_service *service)
{
    if (service->calls)
        service->calls->stop(service->calls->user);
}
