/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor time of a process and all that descend from it, as /proc tells it. No state. Runs
 * in the gateway, in the supervisor of process mode, and in the guest of a container.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TREE_TIME_PROCESSES 1024 /* that are looked at; others are not counted */

struct tree_time {
    uint64_t user_us;
    uint64_t system_us;
};

/* Of those that live, and of those that ended and were waited for: a process that ended unnoticed,
 * because its parent ignores SIGCHLD, is in no sum. Rather too little than too much where they come
 * and go meanwhile. The kernel tells it in ticks of 10 ms. false: /proc does not tell it. */
bool tree_time_read(pid_t first, struct tree_time *ret);
