/* SPDX-License-Identifier: Apache-2.0 */
/* How many calls of tools have ended in which way, in this process. Any thread. */
#pragma once

#include <stdint.h>

#include "tools/tool_call.h"

void tool_count_end(enum tool_call_status status);
uint64_t tool_count(enum tool_call_status status);
/* In a child of fork(): none has ended. */
void tool_count_after_fork(void);
