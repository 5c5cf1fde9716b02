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
    const char *memory_peak;
    const char *memory_events;
};

static const struct cgroup_names names[] = {
    [1] = {"tasks", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.max_usage_in_bytes",
           "memory.oom_control"},
    [2] = {"cgroup.procs", "memory.max", "memory.current", "memory.peak", "memory.events"},
};

static bool make_group(const char *base, const char *name, char *path, size_t size)
{
    if (!base[0] || (size_t)snprintf(path, size, "%s/%s", base, name) >= size)
        return false;
    return mkdir(path, 0755) == 0 || errno == EEXIST;
}

/* The kernel keeps the limit of memory at or below that of memory and swap together: to raise both
 * begins with the latter, which is absent where swap is not counted, to lower both with the former.
 */
static bool limit_memory_version1(const char *group, uint64_t bytes)
{
    bool limited = cgroup_file_write_number(group, names[1].memory_limit, bytes) == 0;
    if (cgroup_file_write_number(group, "memory.memsw.limit_in_bytes", bytes) < 0)
        return limited && errno == ENOENT;
    return limited || cgroup_file_write_number(group, names[1].memory_limit, bytes) == 0;
}

static bool limit_memory_version2(const char *group, uint64_t bytes)
{
    if (cgroup_file_write_number(group, names[2].memory_limit, bytes) < 0)
        return false;
    if (cgroup_file_write(group, "memory.swap.max", "0") < 0 && errno != ENOENT)
        return false;
    return cgroup_file_write(group, "memory.oom.group", "1") == 0 || errno == ENOENT;
}

static bool limit_memory(const struct cgroup *cgroup, uint64_t bytes)
{
    if (bytes == 0)
        return true;
    return cgroup->version == 1 ? limit_memory_version1(cgroup->memory, bytes)
                                : limit_memory_version2(cgroup->memory, bytes);
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

/* Version 1 has no other way. */
void cgroup_end_singly(const struct cgroup *cgroup)
{
    if (cgroup->version == 2 && cgroup->has_memory)
        (void)cgroup_file_write(cgroup->memory, "memory.oom.group", "0");
}

uint64_t cgroup_memory(const struct cgroup *cgroup)
{
    return cgroup->has_memory
               ? cgroup_file_number(cgroup->memory, names[cgroup->version].memory_held, NULL)
               : 0;
}

bool cgroup_tells_peak(const struct cgroup *cgroup)
{
    char path[PATH_MAX];
    return cgroup->has_memory &&
           (size_t)snprintf(path, sizeof(path), "%s/%s", cgroup->memory,
                            names[cgroup->version].memory_peak) < sizeof(path) &&
           access(path, R_OK) == 0;
}

bool cgroup_processor_time(const struct cgroup *cgroup, uint64_t *ret_us)
{
    const char *group = cgroup->has_memory ? cgroup->memory : cgroup->pids;
    if (cgroup->version != 2 || (!cgroup->has_memory && !cgroup->has_pids))
        return false;
    uint64_t used_us = cgroup_file_number(group, "cpu.stat", "usage_usec");
    if (used_us == 0) /* its init has had some */
        return false;
    *ret_us = used_us;
    return true;
}

void cgroup_read(const struct cgroup *cgroup, struct cgroup_counts *ret)
{
    const struct cgroup_names *files = &names[cgroup->version];
    *ret = (struct cgroup_counts){.memory_kills = 0};
    if (cgroup->has_memory) {
        ret->peak_memory_bytes = cgroup_file_number(cgroup->memory, files->memory_peak, NULL);
        ret->memory_kills = cgroup_file_number(cgroup->memory, files->memory_events, "oom_kill");
    }
    if (cgroup->has_pids) {
        ret->peak_processes = cgroup_file_number(cgroup->pids, "pids.peak", NULL);
        ret->process_refusals = cgroup_file_number(cgroup->pids, "pids.events", "max");
    }
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
    if (cgroup->version == 2 && cgroup->memory[0])
        cgroup->pids[0] = '\0';
    int memory = remove_group(cgroup->memory);
    int pids = remove_group(cgroup->pids);
    return memory < 0 || pids < 0 ? -1 : 0;
}
