/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capabilities that a call needs, and whether policy and host both grant them: the effective
 * right is host and policy and request. On the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "call/call.h"
#include "vocabulary/capability.h"

#define CAPABILITY_NEEDS_LIMIT \
    (CAPABILITY_COUNT + REQUEST_SECRETS_LIMIT + REQUEST_ENDPOINTS_LIMIT + TOOL_LIST_LIMIT)

struct capability_need {
    enum capability capability;
    const char *parameter; /* borrowed from the request; NULL: all of it */
};

/* The capabilities of the planned call, in the order of the questions; returns their number. */
size_t capability_needs(const struct call *call,
                        struct capability_need ret[CAPABILITY_NEEDS_LIMIT]);
/* By the policy, as far as the context leaves it. */
bool capability_policy_grants(const struct call *call, const struct capability_need *need);

/* Whether policy and host both grant all of it; asks the host. */
bool capability_is_granted(const struct call *call, enum capability capability);
/* The same of that one thing. parameter NULL: all of it. */
bool capability_is_granted_for(const struct call *call, enum capability capability,
                               const char *parameter);

/* false with ACCESS_DENIED, naming the first that policy or host does not grant. The host is asked
 * only for capabilities that the policy grants: for the plain name and, if it denies that, for
 * NAME=PARAMETER. A host that grants NAME=! is not asked further. */
bool capability_check(const struct call *call, struct error *error);
/* The same as far as the policy goes. */
bool capability_check_policy(const struct call *call, struct error *error);
