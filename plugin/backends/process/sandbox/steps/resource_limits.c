/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns setrlimit(2) of a sandboxed run. Runs in the payload. A limit that the supervisor has itself
 * been given and that is lower stays.
 */
#include <errno.h>
#include <sys/resource.h>

#include "backends/common/descriptor_limit.h"
#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"

#define MEMORY_LOCK_BYTES 65536
#define PENDING_SIGNALS   1024
/* No file, which would be longer, and no program of the machine's that a crash starts: the kernel
 * takes this limit alone for that, not 0, where its core_pattern is a pipe (core(5)). */
#define CORE_BYTES 1
/* Leaves the refusal to the cgroup, which counts it. */
#define PROCESSES_ABOVE_CGROUP 32

static int set_limit(__rlimit_resource_t resource, rlim_t soft, rlim_t hard)
{
    struct rlimit now;
    if (getrlimit(resource, &now) < 0)
        return -1;
    struct rlimit wanted = {
        .rlim_cur = soft < now.rlim_max ? soft : now.rlim_max,
        .rlim_max = hard < now.rlim_max ? hard : now.rlim_max,
    };
    return setrlimit(resource, &wanted);
}

static int set_both_limits(__rlimit_resource_t resource, uint64_t value)
{
    return value ? set_limit(resource, value, value) : 0;
}

static int limit_processor_time(uint64_t milliseconds)
{
    if (milliseconds == 0)
        return 0;
    rlim_t seconds = milliseconds / 1000 + (milliseconds % 1000 != 0);
    return set_limit(RLIMIT_CPU, seconds, seconds + 1);
}

/* Counts threads too, and the init of the sandbox, which is the same user. Where that user is the
 * gateway's, the kernel would count its processes as well. */
static int limit_processes(const struct sandbox *sandbox)
{
    uint64_t processes = sandbox->description->limits.processes;
    if (processes == 0 || !sandbox->blueprint->has_own_user)
        return 0;
    processes += sandbox->isolation.cgroup_has_pids ? PROCESSES_ABOVE_CGROUP : 1;
    return set_both_limits(RLIMIT_NPROC, processes);
}

/* Address space is no measure of memory: a runtime with a garbage collector reserves gigabytes that
 * it never touches. Where no cgroup counts, writable private memory comes nearest. */
static int limit_memory(const struct sandbox *sandbox)
{
    if (sandbox->isolation.cgroup_has_memory)
        return 0;
    uint64_t bytes = sandbox->description->limits.memory_bytes;
    return set_both_limits(RLIMIT_DATA, bytes ? bytes + sandbox->inheritance.data_bytes : 0);
}

int limit_resources(struct sandbox *sandbox)
{
    const struct run_limits *limits = &sandbox->description->limits;
    if (set_limit(RLIMIT_CORE, CORE_BYTES, CORE_BYTES) < 0 ||
        set_limit(RLIMIT_MEMLOCK, MEMORY_LOCK_BYTES, MEMORY_LOCK_BYTES) < 0 ||
        set_limit(RLIMIT_SIGPENDING, PENDING_SIGNALS, PENDING_SIGNALS) < 0 ||
        set_limit(RLIMIT_MSGQUEUE, 0, 0) < 0 || set_limit(RLIMIT_RTPRIO, 0, 0) < 0 ||
        set_limit(RLIMIT_NICE, 0, 0) < 0)
        return -1;
    if (descriptor_limit_restore() < 0 || set_both_limits(RLIMIT_NOFILE, limits->open_files) < 0 ||
        set_both_limits(RLIMIT_FSIZE, limits->file_bytes) < 0 ||
        limit_processor_time(limits->cpu_ms) < 0)
        return -1;
    return limit_processes(sandbox) < 0 ? -1 : limit_memory(sandbox);
}
