/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the person at the controlling terminal. On the thread inside tool_invoke(). */
#pragma once

#include <jansson.h>

#include "approval_decision.h"

void approval_by_terminal(const json_t *request, int cancelled_fd, struct approval_decision *ret);
