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

void cell_usage_begin(struct cell_usage *usage, pid_t first, uint64_t asks_after_ms)
{
    *usage = (struct cell_usage){
        .first = first, .begin_us = now_us(), .asks_after_us = asks_after_ms * 1000};
}

static uint64_t first_look_us(const struct cell_usage *usage)
{
    return usage->begin_us + CELL_USAGE_AFTER_US;
}

static bool awaits_look(const struct cell_usage *usage)
{
    return usage->first > 0 && usage->cost_us == 0;
}

static int at_most_until(uint64_t until_us, int timeout_ms)
{
    uint64_t at_us = now_us();
    int until_ms = at_us < until_us ? (int)((until_us - at_us) / 1000) + 1 : 0;
    return timeout_ms >= 0 && timeout_ms < until_ms ? timeout_ms : until_ms;
}

int cell_usage_wait_ms(const struct cell_usage *usage, int timeout_ms)
{
    if (usage->asked_us > 0)
        return at_most_until(usage->asked_us + CELL_USAGE_LIMIT_US, timeout_ms);
    return awaits_look(usage) ? at_most_until(first_look_us(usage), timeout_ms) : timeout_ms;
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

bool cell_usage_asks(struct cell_usage *usage)
{
    uint64_t at_us = now_us();
    if (usage->asks_after_us == 0 || usage->asked_us > 0 ||
        at_us - usage->begin_us < usage->asks_after_us)
        return false;
    usage->asked_us = at_us;
    return true;
}

bool cell_usage_awaits(const struct cell_usage *usage)
{
    return usage->asked_us > 0 && !usage->is_told &&
           now_us() - usage->asked_us < CELL_USAGE_LIMIT_US;
}

/* One that comes unasked is that of an earlier cell, and came too late. */
void cell_usage_take(struct cell_usage *usage, const struct run_usage *told)
{
    if (usage->asked_us == 0)
        return;
    usage->is_told = true;
    usage->told = (struct tree_time){.user_us = told->user_us, .system_us = told->system_us};
}

/* The last look of our own. */
static bool look_again(const struct cell_usage *usage, struct tree_time *ret)
{
    struct tree_time used;
    if (usage->first <= 0 || usage->cost_us == 0 ||
        now_us() - usage->begin_us < usage->cost_us * CELL_USAGE_SHARE ||
        !tree_time_read(usage->first, &used))
        return false;
    ret->user_us = since(usage->base.user_us, used.user_us);
    ret->system_us = since(usage->base.system_us, used.system_us);
    return true;
}

struct run_usage cell_usage_end(const struct cell_usage *usage, uint64_t wall_us)
{
    struct tree_time spent = {.user_us = RUN_USAGE_UNKNOWN, .system_us = RUN_USAGE_UNKNOWN};
    if (usage->is_told)
        spent = usage->told;
    else
        (void)look_again(usage, &spent);
    return (struct run_usage){
        .wall_us = wall_us,
        .user_us = spent.user_us,
        .system_us = spent.system_us,
        .peak_memory_bytes = RUN_USAGE_UNKNOWN,
        .processes = RUN_USAGE_UNKNOWN,
    };
}
