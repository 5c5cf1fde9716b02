/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What capabilities a call needs, and whether policy and host both grant them: the effective right
 * is host and policy and request. On the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "call/call.h"
#include "vocabulary/capability.h"

#define CAPABILITY_NEEDS_LIMIT (CAPABILITY_COUNT + REQUEST_SECRETS_LIMIT)

struct capability_need {
    enum capability capability;
    const char *parameter; /* borrowed from the request; NULL: all of it */
};

/* What the planned call needs, in the order in which it is asked for; returns how many. */
size_t capability_needs(const struct call *call,
                        struct capability_need ret[CAPABILITY_NEEDS_LIMIT]);
/* By the policy, as far as the context leaves it. */
bool capability_policy_grants(const struct call *call, const struct capability_need *need);

/* The refusal of one that policy or host does not grant, with what can be done about it. */
void capability_refuse(const struct call *call, const struct capability_need *need,
                       struct error *error);

/* Whether policy and host both grant all of it; asks the host. */
bool capability_is_granted(const struct call *call, enum capability capability);

/* false with ACCESS_DENIED, naming the first that policy or host does not grant. The host is asked
 * for what the policy grants only: for the capability as a whole and, where it does not grant that,
 * for NAME=PARAMETER. One that would grant NAME=! is not believed there. */
bool capability_check(const struct call *call, struct error *error);
