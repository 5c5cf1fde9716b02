/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer allow_cells: further cells of a session run without a question, as far as they want no
 * more than the one that an approver has allowed. Runs in the gateway, on the thread inside
 * tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "call/call.h"

/* Plain memory, released by free(). A session has at most one, and it ends with the session. */
struct cells_grant;

/* Can an approver be offered it? Only in a session without secrets. */
bool cells_grant_can_be_offered(const struct call *call);

/* Does the answer that the call's session has got earlier hold for this call too? Then *ret is that
 * answer, with its approver, reason and id. */
bool cells_grant_covers(const struct call *call, const struct policy_verdict *verdict,
                        struct approval_outcome *ret);

/* Where the call has just got the answer, makes the grant of it, which is the call's until
 * cells_grant_keep(). verdict: why it was asked. false with OUT_OF_MEMORY. */
bool cells_grant_take_answer(struct call *call, const struct policy_verdict *verdict,
                             struct error *error);

/* Hands the call's grant, if it has one, to its session, which is about to execute the cell. */
void cells_grant_keep(struct call *call);
