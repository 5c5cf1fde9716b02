/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the request into the store, where another terminal or program answers it with toolhost
 * approvals. On the thread inside tool_invoke().
 */
#pragma once

#include <jansson.h>

#include "approval_decision.h"
#include "approver.h"

/* Waits for the answer, or with APPROVAL_PENDING uses that of an earlier identical call, or says
 * that it is pending. */
void approval_by_queue(const struct approver *approver, const json_t *request,
                       const char *request_json, int cancelled_fd, struct approval_decision *ret);
