/* SPDX-License-Identifier: Apache-2.0 */
/* Weighs the time that a call had against the time it could have. */
#include "timeout_hint.h"

#include "capability_check.h"

void timeout_hint(const struct call *call, struct error *error)
{
    uint64_t usual_ms = call_usual_wall_ms(call);
    uint64_t asked_ms = call->request.timeout_ms != 0 ? call->request.timeout_ms : usual_ms;
    uint64_t most_ms = call_wall_limit(call, &call->limits)->maximum;
    if (most_ms > usual_ms && asked_ms < most_ms &&
        !capability_is_granted(call, CAPABILITY_LIMITS_EXTENDED))
        most_ms = usual_ms;
    if (asked_ms < most_ms)
        error_set_hint(error,
                       "make the program faster, split the work, or set timeout_ms, up to %llu",
                       (unsigned long long)most_ms);
    else
        error_set_hint(error,
                       "make the program faster or split the work: %llu ms is all that this caller "
                       "may have",
                       (unsigned long long)asked_ms);
}
