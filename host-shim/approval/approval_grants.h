/* SPDX-License-Identifier: Apache-2.0 */
/* Answers by grants that stand in the store, and remembers new ones. On the thread inside
 * tool_invoke(). */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "approval/approval.h"
#include "approval/approval_decision.h"
#include "approval/approval_store.h"

#define APPROVAL_GRANT_DAYS 30u /* lifetime of a grant, unless given */

/* true: a grant of the store answers, and *ret is filled. A store that cannot be read grants
 * nothing; *ret has a notice of that. */
bool approval_by_grant(const struct approver *approver, const json_t *request,
                       struct approval_decision *ret);

/* Has the answer stand for identical requests. Where that fails the answer is for this once, with
 * a notice. */
void approval_remember(const struct approver *approver, const json_t *request,
                       struct approval_decision *decision);

/* Borrows from the request. false: it does not say which it is. */
bool approval_subject_of(const json_t *request, struct approval_subject *ret);
