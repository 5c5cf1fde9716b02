/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/PID/stat tells of a process, or of a thread (proc(5)). No state; any process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_stat {
    char state;
    pid_t parent;
    unsigned threads;
    /* With that of children that ended and were waited for; sysconf(_SC_CLK_TCK) are a second. */
    uint64_t user_ticks;
    uint64_t system_ticks;
    uint64_t start_ticks; /* behind the machine's start */
};

/* path: from that directory, as of openat(2). false: it has ended, or nobody tells it. */
bool process_stat_read(int directory, const char *path, struct process_stat *ret);
/* It does nothing any more: its parent has only to wait for it. */
bool process_stat_has_ended(const struct process_stat *stat);
