/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the sum over a tree of processes: see process_stat.h. */
#include "base/process_stat.h"

#include <unistd.h>

struct ticks {
    pid_t first;
    uint64_t user;
    uint64_t system;
};

/* When a process ends its time goes to its parent, and its children to the first process or to one
 * between: to processes that were looked at before. So no time is counted twice. */
static bool add_ticks(pid_t pid, const struct process_stat *stat, void *user)
{
    struct ticks *sum = user;
    bool is_first = pid == sum->first;
    sum->user += is_first ? stat->children_user_ticks : stat->user_ticks;
    sum->system += is_first ? stat->children_system_ticks : stat->system_ticks;
    return true;
}

bool tree_time_read(pid_t first, struct tree_time *ret)
{
    uint64_t ticks_a_second = (uint64_t)sysconf(_SC_CLK_TCK);
    struct ticks sum = {.first = first};
    if (!process_tree_walk(first, add_ticks, &sum))
        return false;
    *ret = (struct tree_time){
        .user_us = sum.user * UINT64_C(1000000) / ticks_a_second,
        .system_us = sum.system * UINT64_C(1000000) / ticks_a_second,
    };
    return true;
}
