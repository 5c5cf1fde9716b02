/* SPDX-License-Identifier: Apache-2.0 */
/* Weighs the time that a call had against the time it could have. */
#include "call/timeout_hint.h"

#include "call/capability_check.h"

/* A question about a policy comes from no host: the policy alone answers. */
static bool may_extend(const struct call *call)
{
    const struct capability_need need = {.capability = CAPABILITY_LIMITS_EXTENDED};
    if (call->host_mistake != HOST_SOUND)
        return capability_policy_grants(call, &need);
    return capability_is_granted(call, CAPABILITY_LIMITS_EXTENDED);
}

static uint64_t most_wall_ms(const struct call *call)
{
    uint64_t usual_ms = call_usual_wall_ms(call);
    uint64_t most_ms = call_wall_limit(call, &call->limits)->maximum;
    return most_ms > usual_ms && !may_extend(call) ? usual_ms : most_ms;
}

void timeout_hint(const struct call *call, struct error *error)
{
    uint64_t asked_ms =
        call->request.timeout_ms != 0 ? call->request.timeout_ms : call_usual_wall_ms(call);
    uint64_t most_ms = most_wall_ms(call);
    if (asked_ms < most_ms)
        error_set_hint(error,
                       "make the program faster, split the work, or set timeout_ms, up to %llu",
                       (unsigned long long)most_ms);
    else
        error_set_hint(error,
                       "make the program faster or split the work: %llu ms is the most that this "
                       "caller may have",
                       (unsigned long long)asked_ms);
}

void timeout_hint_too_high(const struct call *call, struct error *error)
{
    error_set_hint(error, "set timeout_ms to %llu at most, or leave it out",
                   (unsigned long long)most_wall_ms(call));
}
