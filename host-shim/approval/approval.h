/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the approver that --approve names. A tool's input and a client's claims about itself reach
 * this code only as the request that is shown. On the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "approval/approval_decision.h"
#include "approval/approver.h"
#include "base/failure.h"

/* Decides about request_json; *ret is to be cleared (approval_clear()). cancelled_fd (or -1)
 * becomes readable when the call is cancelled: that denies. */
void approval_decide(const struct approver *approver, const char *request_json, int cancelled_fd,
                     struct approval_decision *ret);

/* Reads --approve's value into mode, program and url. */
bool approval_option_parse(const char *value, struct approver *ret, struct failure *failure);
