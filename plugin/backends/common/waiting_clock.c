/* SPDX-License-Identifier: Apache-2.0 */
/* See waiting_clock.h. Runs in a backend's supervisor. */
#include "backends/common/waiting_clock.h"

void waiting_clock_begin(struct waiting_clock *clock, uint64_t now_us, uint64_t processor_us)
{
    clock->waits = true;
    clock->since_us = now_us;
    clock->processor_us = processor_us;
}

void waiting_clock_settle(struct waiting_clock *clock, uint64_t now_us, uint64_t processor_us)
{
    if (!clock->waits)
        return;
    uint64_t waited_us = now_us > clock->since_us ? now_us - clock->since_us : 0;
    uint64_t used_us = processor_us > clock->processor_us ? processor_us - clock->processor_us : 0;
    uint64_t free_us = waited_us > used_us ? waited_us - used_us : 0;
    uint64_t room_us = clock->limit_us - clock->credit_us;
    clock->credit_us += free_us < room_us ? free_us : room_us;
    waiting_clock_begin(clock, now_us, processor_us);
}

void waiting_clock_end(struct waiting_clock *clock, uint64_t now_us, uint64_t processor_us)
{
    waiting_clock_settle(clock, now_us, processor_us);
    clock->waits = false;
}
