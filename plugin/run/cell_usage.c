/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the looks at a cell's processor time: see cell_usage.h. */
#include "run/cell_usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void cell_usage_begin(struct cell_usage *usage, pid_t first)
{
    *usage = (struct cell_usage){.first = first, .begin_us = now_us()};
}

static uint64_t first_look_us(const struct cell_usage *usage)
{
    return usage->begin_us + CELL_USAGE_AFTER_US;
}

static bool awaits_look(const struct cell_usage *usage)
{
    return usage->first > 0 && usage->cost_us == 0;
}

int cell_usage_wait_ms(const struct cell_usage *usage, int timeout_ms)
{
    uint64_t at_us = now_us();
    if (!awaits_look(usage))
        return timeout_ms;
    int until_ms =
        at_us < first_look_us(usage) ? (int)((first_look_us(usage) - at_us) / 1000) + 1 : 0;
    return timeout_ms >= 0 && timeout_ms < until_ms ? timeout_ms : until_ms;
}

/* /proc may be a mount of another pid namespace, with other numbers. */
static bool proc_is_own(void)
{
    char text[24] = "";
    return readlink("/proc/self", text, sizeof(text) - 1) > 0 &&
           strtol(text, NULL, 10) == (long)getpid();
}

void cell_usage_look(struct cell_usage *usage)
{
    uint64_t at_us = now_us();
    if (!awaits_look(usage) || at_us < first_look_us(usage))
        return;
    if (!proc_is_own() || !tree_time_read(usage->first, &usage->base))
        usage->first = 0;
    usage->cost_us = now_us() - at_us + 1;
}

static uint64_t since(uint64_t base, uint64_t now)
{
    return now > base ? now - base : 0;
}

void cell_usage_end(const struct cell_usage *usage, struct run_usage *ret)
{
    struct tree_time used;
    if (usage->first <= 0 || usage->cost_us == 0 ||
        now_us() - usage->begin_us < usage->cost_us * CELL_USAGE_SHARE ||
        !tree_time_read(usage->first, &used))
        return;
    ret->user_us = since(usage->base.user_us, used.user_us);
    ret->system_us = since(usage->base.system_us, used.system_us);
}
