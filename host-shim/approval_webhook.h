/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a web service, by libcurl. Both ways are signed with a key that the two share (docs/
 * approvals.md); whatever is not a signed answer to this very request denies. On the thread inside
 * tool_invoke().
 */
#pragma once

#include <jansson.h>

#include "approval_decision.h"
#include "approver.h"

void approval_by_webhook(const struct approver *approver, const json_t *request,
                         const char *request_json, int cancelled_fd, struct approval_decision *ret);
