/* SPDX-License-Identifier: Apache-2.0 */
/* A call as the gate has it when it plans: a policy and a request, both read. */
#pragma once

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "call/call.h"
#include "policy/policy.h"

/* On the heap, as in the gate. */
static inline struct call *new_call(const char *policy, enum sandbox_mode mode, const char *input)
{
    struct error error;
    struct call *call = calloc(1, sizeof(*call));
    call_init(call, NULL);
    call->configuration.mode = mode;
    call->configuration.policy = policy_load_text("test", policy, strlen(policy), &error);
    ck_assert_msg(call->configuration.policy != NULL, "%s", error.message);
    call->parsed =
        request_parse(REQUEST_CODE_EXECUTE, input, strlen(input), &call->request, &error);
    ck_assert_msg(call->parsed, "%s", error.message);
    return call;
}

static inline void cleanup_call(struct call **call)
{
    call_clear(*call);
    free(*call);
}
