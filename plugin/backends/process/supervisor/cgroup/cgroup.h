/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control groups that cap and count a run: version 1 (memory and pids below the supervisor's
 * own group in each hierarchy) or version 2 (a delegated subtree), never above what was given to
 * the supervisor. One writer: the supervisor, single-threaded.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "protocol/run_description.h"

/* Where runs get their groups: a directory of this supervisor's own in each hierarchy. */
struct cgroup_base {
    uint32_t version;      /* 0: no control groups */
    char memory[PATH_MAX]; /* "" without that controller; version 2: the same as pids */
    char pids[PATH_MAX];
    int memory_lock; /* held as long as the directory has an owner; see cgroup_base_find() */
    int pids_lock;
    uint32_t swept;   /* directories of dead supervisors that were removed ... */
    uint32_t unswept; /* ... and that could not be */
};

#define CGROUP_ENTRANCES 2

struct cgroup {
    uint32_t version;
    bool has_memory;
    bool has_pids;
    char memory[PATH_MAX];
    char pids[PATH_MAX];
};

struct cgroup_counts {
    uint64_t peak_memory_bytes;
    uint64_t peak_processes; /* 0: the kernel does not tell (before Linux 6.11) */
    uint64_t memory_kills;
    uint64_t process_refusals;
};

/* Finds and makes the base, and removes bases whose supervisor is dead: they are not locked
 * (flock(2)). Always usable: version 0 where there is nothing. */
void cgroup_base_find(struct cgroup_base *ret);
/* Tries again to remove directories of dead supervisors: the processes of one that was killed may
 * take a while to end. */
void cgroup_base_sweep(struct cgroup_base *base);
/* Removes the base; every group in it must be gone. */
void cgroup_base_remove(struct cgroup_base *base);

/* Makes a group. A controller that is not available becomes false in *ret, here and below. */
void cgroup_create(const struct cgroup_base *base, const char *name, struct cgroup *ret);
/* Opens what a process of one thread enters the group by, for its controllers: memory first, pids
 * where it is another group. A controller whose file cannot be opened becomes false. The number of
 * descriptors, the caller's. */
size_t cgroup_open_entrances(struct cgroup *cgroup, int ret[CGROUP_ENTRANCES]);
/* Sets the limits of the run that the group is for. */
void cgroup_limit(struct cgroup *cgroup, const struct run_limits *limits);
/* Once its limits are set: where memory runs out the kernel ends one process of it, and not all. */
void cgroup_end_singly(const struct cgroup *cgroup);
/* The memory that the group holds now; 0 where it is not counted. */
uint64_t cgroup_memory(const struct cgroup *cgroup);
/* Does it know the most memory it has held? Before Linux 5.19 version 2 does not. */
bool cgroup_tells_peak(const struct cgroup *cgroup);
/* Of all processes that are or were in it. false: the group does not tell it, as in version 1. */
bool cgroup_processor_time(const struct cgroup *cgroup, uint64_t *ret_us);
void cgroup_read(const struct cgroup *cgroup, struct cgroup_counts *ret);
/* 0, or -1 with errno: EBUSY while the kernel still tears the last processes down. */
int cgroup_remove(struct cgroup *cgroup);
