/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc/PID/stat tells of a process or a thread (proc(5)), and of a process together with all
 * that descend from it. No state; any process.
 */
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
    uint64_t children_user_ticks; /* of these children alone */
    uint64_t children_system_ticks;
    uint64_t children_faults; /* pages that these children asked for */
    uint64_t start_ticks;     /* behind the machine's start */
};

/* path: from that directory, as of openat(2). false: it has ended, or nobody tells it. */
bool process_stat_read(int directory, const char *path, struct process_stat *ret);
/* It does nothing any more: its parent has only to wait for it. */
bool process_stat_has_ended(const struct process_stat *stat);

#define PROCESS_TREE_MOST 1024 /* that are looked at; others are not counted */

/* false: it has seen enough. */
typedef bool process_tree_visit(pid_t pid, const struct process_stat *stat, void *user);

/* Visits a process and all that descend from it, parents before their children. Those that come and
 * go meanwhile may be missed. false: /proc does not tell of the first one or of its children. */
bool process_tree_walk(pid_t first, process_tree_visit *visit, void *user);

struct tree_time {
    uint64_t user_us;
    uint64_t system_us;
};

/* The processor time of all that descend from a process, of those that live, and of those that
 * ended and were waited for; not its own, which is that of a sandbox's init: a process that ended
 * unnoticed, because its parent ignores SIGCHLD, is in no sum. Rather too little than too much
 * where they come and go meanwhile. The kernel tells it in ticks of 10 ms. false: /proc does not
 * tell it. */
bool tree_time_read(pid_t first, struct tree_time *ret);
