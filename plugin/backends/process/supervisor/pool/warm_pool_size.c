/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the arithmetic of demand: see warm_pool_size.h. */
#include "backends/process/supervisor/pool/warm_pool_size.h"

static uint32_t within(const struct warm_pool_size *size, uint32_t wanted)
{
    if (wanted < size->least)
        return size->least;
    return wanted > size->most ? size->most : wanted;
}

static void begin_period(struct warm_pool_size *size, uint64_t now)
{
    size->lowest = UINT32_MAX;
    size->period_end_us = now + size->period_us;
}

void warm_pool_size_set(struct warm_pool_size *size, uint32_t least, uint32_t most,
                        uint64_t period_us, uint64_t now)
{
    size->least = least;
    size->most = most < least ? least : most;
    size->wanted = within(size, size->wanted);
    size->period_us = period_us;
    if (size->period_end_us == 0)
        begin_period(size, now);
}

void warm_pool_size_note(struct warm_pool_size *size, uint32_t found)
{
    if (found == 0)
        size->wanted = within(size, size->wanted + 1);
    uint32_t left = found == 0 ? 0 : found - 1;
    if (left < size->lowest)
        size->lowest = left;
}

void warm_pool_size_pass(struct warm_pool_size *size, uint32_t count, uint64_t now)
{
    if (now < size->period_end_us)
        return;
    uint32_t unneeded = size->lowest < count ? size->lowest : count;
    size->wanted = within(size, size->wanted > unneeded ? size->wanted - unneeded : 0);
    begin_period(size, now);
}
