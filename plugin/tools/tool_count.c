/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the counters of ended calls of tools: see tool_count.h. Runs in the gateway, on any thread.
 */
#include "tools/tool_count.h"

#include <stdatomic.h>
#include <stddef.h>

static atomic_uint_fast64_t ended[TOOL_CALL_STATUS_COUNT];

void tool_count_end(enum tool_call_status status)
{
    (void)atomic_fetch_add(&ended[status], 1);
}

uint64_t tool_count(enum tool_call_status status)
{
    return atomic_load(&ended[status]);
}

void tool_count_after_fork(void)
{
    for (size_t i = 0; i < TOOL_CALL_STATUS_COUNT; i++)
        atomic_store(&ended[i], 0);
}
