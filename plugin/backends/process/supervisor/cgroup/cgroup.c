/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the groups of the runs, in both versions: see cgroup.h. Runs in the supervisor. */
#include "backends/process/supervisor/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/process/supervisor/cgroup/cgroup_file.h"
#include "base/cleanup.h"

/* The same facts under the names of the two versions (cgroup-v1/memory.rst, cgroup-v2.rst). To move
 * a process the kernel stops all others from starting any, which takes 15 ms on a quiet machine; in
 * version 1 a thread moves itself without (kernel/cgroup/cgroup.c, cgroup_procs_write_start()). */
struct cgroup_names {
    const char *entrance; /* what its first process, which has one thread, writes "0" to */
    const char *memory_limit;
    const char *memory_held;
    struct cgroup_counter_file {
        const char *file;
        const char *key; /* NULL: its only number */
    } counters[CGROUP_COUNTER_COUNT];
};

static const struct cgroup_names names[] = {
    [1] = {"tasks",
           "memory.limit_in_bytes",
           "memory.usage_in_bytes",
           {{"memory.max_usage_in_bytes", NULL},
            {"memory.oom_control", "oom_kill"},
            {"pids.peak", NULL},
            {"pids.events", "max"}}},
    [2] = {"cgroup.procs",
           "memory.max",
           "memory.current",
           {{"memory.peak", NULL},
            {"memory.events", "oom_kill"},
            {"pids.peak", NULL},
            {"pids.events", "max"}}},
};

static bool make_group(const char *base, const char *name, char *path, size_t size)
{
    if (!base[0] || (size_t)snprintf(path, size, "%s/%s", base, name) >= size)
        return false;
    return mkdir(path, 0755) == 0 || errno == EEXIST;
}

static bool limit_memory(const struct cgroup *cgroup, uint64_t bytes)
{
    const char *group = cgroup->memory;
    if (bytes == 0)
        return true;
    if (cgroup_file_write_number(group, names[cgroup->version].memory_limit, bytes) < 0)
        return false;
    if (cgroup->version == 1) {
        /* Memory and swap together; absent where swap is not counted. */
        int result = cgroup_file_write_number(group, "memory.memsw.limit_in_bytes", bytes);
        return result == 0 || errno == ENOENT;
    }
    if (cgroup_file_write(group, "memory.swap.max", "0") < 0 && errno != ENOENT)
        return false;
    return cgroup_file_write(group, "memory.oom.group", "1") == 0 || errno == ENOENT;
}

/* One more than the run may have: the init of the sandbox is in the group too. */
static bool limit_processes(const struct cgroup *cgroup, uint64_t processes)
{
    return processes == 0 || cgroup_file_write_number(cgroup->pids, "pids.max", processes + 1) == 0;
}

void cgroup_create(const struct cgroup_base *base, const char *name, struct cgroup *ret)
{
    *ret = (struct cgroup){.version = base->version};
    if (base->version == 0)
        return;
    ret->has_memory = make_group(base->memory, name, ret->memory, sizeof(ret->memory));
    ret->has_pids = make_group(base->pids, name, ret->pids, sizeof(ret->pids));
}

void cgroup_limit(struct cgroup *cgroup, const struct run_limits *limits)
{
    cgroup->has_memory = cgroup->has_memory && limit_memory(cgroup, limits->memory_bytes);
    cgroup->has_pids = cgroup->has_pids && limit_processes(cgroup, limits->processes);
}

static bool open_entrance(const struct cgroup *cgroup, const char *group, int *ret)
{
    *ret = cgroup_file_open(group, names[cgroup->version].entrance, O_WRONLY);
    return *ret >= 0;
}

size_t cgroup_open_entrances(struct cgroup *cgroup, int ret[CGROUP_ENTRANCES])
{
    size_t count = 0;
    bool is_one = cgroup->has_memory && strcmp(cgroup->memory, cgroup->pids) == 0;
    cgroup->has_memory = cgroup->has_memory && open_entrance(cgroup, cgroup->memory, &ret[count]);
    count += cgroup->has_memory;
    if (is_one) {
        cgroup->has_pids = cgroup->has_pids && cgroup->has_memory;
        return count;
    }
    cgroup->has_pids = cgroup->has_pids && open_entrance(cgroup, cgroup->pids, &ret[count]);
    return count + cgroup->has_pids;
}

uint64_t cgroup_memory(const struct cgroup *cgroup)
{
    return cgroup->has_memory
               ? cgroup_file_number(cgroup->memory, names[cgroup->version].memory_held, NULL)
               : 0;
}

/* The group that has the counter, NULL where no group has. */
static const char *group_of(const struct cgroup *cgroup, enum cgroup_counter counter)
{
    if (counter == CGROUP_MEMORY_PEAK || counter == CGROUP_MEMORY_EVENTS)
        return cgroup->has_memory ? cgroup->memory : NULL;
    return cgroup->has_pids ? cgroup->pids : NULL;
}

bool cgroup_tells_peak(const struct cgroup *cgroup)
{
    char path[PATH_MAX];
    const char *group = group_of(cgroup, CGROUP_MEMORY_PEAK);
    const char *file = names[cgroup->version].counters[CGROUP_MEMORY_PEAK].file;
    return group && (size_t)snprintf(path, sizeof(path), "%s/%s", group, file) < sizeof(path) &&
           access(path, R_OK) == 0;
}

void cgroup_open_counters(struct cgroup *cgroup)
{
    if (cgroup->version == 0 || cgroup->counters_are_open)
        return;
    for (int i = 0; i < CGROUP_COUNTER_COUNT; i++) {
        const char *group = group_of(cgroup, (enum cgroup_counter)i);
        const char *file = names[cgroup->version].counters[i].file;
        cgroup->counters[i] = group ? cgroup_file_open(group, file, O_RDONLY) : -1;
    }
    cgroup->counters_are_open = true;
}

static void close_counters(struct cgroup *cgroup)
{
    for (int i = 0; cgroup->counters_are_open && i < CGROUP_COUNTER_COUNT; i++)
        close_fd(cgroup->counters[i]);
    cgroup->counters_are_open = false;
}

static uint64_t read_counter(const struct cgroup *cgroup, enum cgroup_counter counter)
{
    const char *group = group_of(cgroup, counter);
    if (!group)
        return 0;
    const struct cgroup_counter_file *file = &names[cgroup->version].counters[counter];
    if (cgroup->counters_are_open && cgroup->counters[counter] >= 0)
        return cgroup_file_number_of(cgroup->counters[counter], file->key);
    return cgroup_file_number(group, file->file, file->key);
}

void cgroup_read(const struct cgroup *cgroup, struct cgroup_counts *ret)
{
    *ret = (struct cgroup_counts){
        .peak_memory_bytes = read_counter(cgroup, CGROUP_MEMORY_PEAK),
        .memory_kills = read_counter(cgroup, CGROUP_MEMORY_EVENTS),
        .peak_processes = read_counter(cgroup, CGROUP_PIDS_PEAK),
        .process_refusals = read_counter(cgroup, CGROUP_PIDS_EVENTS),
    };
}

static int remove_group(char *path)
{
    if (!path[0])
        return 0;
    if (rmdir(path) < 0 && errno != ENOENT)
        return -1;
    path[0] = '\0';
    return 0;
}

int cgroup_remove(struct cgroup *cgroup)
{
    close_counters(cgroup);
    if (cgroup->version == 2 && cgroup->memory[0])
        cgroup->pids[0] = '\0';
    int memory = remove_group(cgroup->memory);
    int pids = remove_group(cgroup->pids);
    return memory < 0 || pids < 0 ? -1 : 0;
}
