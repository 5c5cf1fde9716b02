/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the counting of a run's processes: see supervision.h. */
#include "backends/process/program/supervision.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "backends/process/program/process_memory.h"
#include "backends/process/program/scratch_use.h"
#include "backends/process/program/whole_tree.h"
#include "base/cleanup.h"
#include "base/process_stat.h"

#define LOOK_US         (UINT64_C(10) * 1000)
#define LOOK_FIRST_US   (UINT64_C(5) * 1000) /* most programs have ended by then */
#define LOOK_RESTING_US (UINT64_C(100) * 1000)
#define LOOK_SCRATCH_US (UINT64_C(20) * 1000)
#define LOOK_LATEST_US  (UINT64_C(20) * 1000) /* however much it costs */
#define LOOK_PARTS_US   (UINT64_C(100) * 1000)
#define LOOK_NEAR_US    (UINT64_C(2) * 1000) /* where half of a limit is used */
/* Looks take about this part of a processor at most, unless they are dear. */
#define LOOK_SHARE         5
#define USUAL_SOCKET_BYTES 212992

struct tree_use {
    pid_t spared;
    pid_t beginning;
    struct inheritance inheritance;
    uint64_t own_bytes; /* of the last process, which it shares with none */
    uint64_t memory_bytes;
    uint64_t processes; /* with their threads, as the kernel counts them */
    uint64_t most;      /* of them; none is looked at beyond */
    uint64_t cpu_us;
    bool is_awake;               /* one of them is not stopped */
    struct scratch_use *scratch; /* NULL: not looked at this time */
};

static uint64_t time_of(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t now_us(void)
{
    return time_of(CLOCK_MONOTONIC);
}

static uint64_t ticks_us(uint64_t ticks)
{
    return ticks * UINT64_C(1000000) / (uint64_t)sysconf(_SC_CLK_TCK);
}

static uint64_t time_us(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

/* Of the init only what its children had used: its own work is not the program's. */
static bool add_process(pid_t pid, const struct process_stat *stat, void *user)
{
    struct tree_use *use = user;
    struct rusage ended;
    uint64_t memory_bytes;
    if (pid == use->spared)
        return true;
    if (pid == getpid()) {
        if (getrusage(RUSAGE_CHILDREN, &ended) == 0)
            use->cpu_us += time_us(ended.ru_utime) + time_us(ended.ru_stime);
        return true;
    }
    use->cpu_us += ticks_us(stat->user_ticks + stat->system_ticks);
    if (process_stat_has_ended(stat))
        return true;
    if (process_memory_whole(pid, &memory_bytes))
        use->memory_bytes += memory_bytes;
    if (use->scratch && pid != use->beginning)
        scratch_use_add_open(use->scratch, pid);
    return true;
}

static bool see_nothing(pid_t pid, const struct process_stat *stat, void *user)
{
    (void)pid;
    (void)stat;
    (void)user;
    return true;
}

bool supervision_is_possible(void)
{
    uint64_t memory_bytes = 0;
    if (!process_tree_walk(getpid(), see_nothing, NULL) ||
        !process_memory_whole(getpid(), &memory_bytes))
        return false;
    errno = ENOTSUP;
    return memory_bytes > 0;
}

/* What a socket can hold, as nothing tells what it does: programs cannot ask for more (SO_SNDBUF).
 */
uint64_t supervision_bytes_of_socket(void)
{
    int bytes = USUAL_SOCKET_BYTES;
    socklen_t size = sizeof(bytes);
    int pair[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0)
        (void)getsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &bytes, &size);
    close_fd(pair[0]);
    close_fd(pair[1]);
    return (uint64_t)bytes;
}

void supervision_begin(const char *directory, const struct run_limits *limits,
                       const struct isolation_report *isolation, struct supervision *ret)
{
    *ret = (struct supervision){.inheritance = ret->inheritance,
                                .spared = ret->spared,
                                .input_bytes = ret->input_bytes,
                                .bytes_of_socket = ret->bytes_of_socket,
                                .directory = directory,
                                .limits = *limits,
                                .common_bytes = ret->inheritance.memory_bytes,
                                .peak_processes = 1};
    if (limits->scratch_bytes > 0)
        ret->limits.scratch_bytes += ret->input_bytes;
    if (isolation->cgroup_has_memory)
        ret->limits.memory_bytes = 0;
    if (isolation->cgroup_has_pids)
        ret->limits.processes = 0;
    ret->next_us = ret->next_close_us = ret->next_scratch_us = now_us() + LOOK_FIRST_US;
}

void supervision_rest(struct supervision *supervision, bool rests)
{
    supervision->rests = rests;
    supervision->next_us = supervision->next_close_us = supervision->next_scratch_us = now_us();
}

void supervision_report(const struct supervision *supervision, struct report *ended)
{
    uint64_t inherited = supervision->inheritance.resident_bytes;
    uint64_t *peak = &ended->usage.peak_memory_bytes;
    *peak = *peak > inherited ? *peak - inherited : 0;
    ended->peak_processes = supervision->peak_processes;
    if (supervision->peak_memory_bytes > ended->usage.peak_memory_bytes)
        ended->usage.peak_memory_bytes = supervision->peak_memory_bytes;
}

int supervision_wait_ms(const struct supervision *supervision)
{
    uint64_t now = now_us();
    if (!supervision->directory)
        return -1;
    return supervision->next_us <= now ? 0 : (int)((supervision->next_us - now + 999) / 1000);
}

/* By what the look has cost, not by how long it took: on a busy machine the next one is not late as
 * well. */
static uint64_t later(uint64_t cost_us, uint64_t interval_us)
{
    uint64_t pause_us =
        cost_us * LOOK_SHARE < LOOK_LATEST_US ? cost_us * LOOK_SHARE : LOOK_LATEST_US;
    return now_us() + (pause_us > interval_us ? pause_us : interval_us);
}

/* A look at nothing else comes first, and ends beyond the limit: however many processes there are
 * by then, it costs little, and the init may get little. */
static bool count_threads(pid_t pid, const struct process_stat *stat, void *user)
{
    struct tree_use *use = user;
    bool has_stopped = stat->state == 'T' || stat->state == 't' ||
                       (process_stat_has_ended(stat) && stat->threads <= 1);
    if (pid != getpid() && pid != use->spared) {
        use->processes += stat->threads;
        use->is_awake = use->is_awake || !has_stopped;
    }
    return use->most == 0 || use->processes <= use->most;
}

/* Where a page that several have counts once. One that cannot be asked counts whole. */
static bool add_part(pid_t pid, const struct process_stat *stat, void *user)
{
    struct tree_use *use = user;
    struct memory_part part = {.bytes = 0};
    if (pid == getpid() || pid == use->spared || process_stat_has_ended(stat) ||
        process_memory_is_common(pid, stat->parent))
        return true;
    if (!process_memory_part(pid, &use->inheritance, &part) &&
        process_memory_whole(pid, &part.bytes))
        part.own_bytes = part.bytes;
    use->processes++;
    use->memory_bytes += part.bytes;
    use->own_bytes = part.own_bytes;
    return true;
}

static bool exceeds(uint64_t used, uint64_t limit)
{
    return limit != 0 && used > limit;
}

static enum run_cause exceeded_limit(const struct supervision *supervision,
                                     const struct tree_use *use)
{
    const struct run_limits *limits = &supervision->limits;
    if (exceeds(use->memory_bytes, limits->memory_bytes))
        return RUN_CAUSE_MEMORY_LIMIT;
    if (exceeds(use->cpu_us, limits->cpu_ms * 1000))
        return RUN_CAUSE_CPU_LIMIT;
    if (use->scratch &&
        (use->scratch->is_beyond_count || exceeds(use->scratch->bytes, limits->scratch_bytes) ||
         exceeds(use->scratch->inodes, limits->scratch_inodes)))
        return RUN_CAUSE_DISK_FULL;
    return RUN_CAUSE_EXIT;
}

/* What the tree has, where its processes have so much, each for itself. To ask for their parts
 * costs some milliseconds: what they had in common the last time is taken off, for a while. */
static uint64_t common_bytes_off(struct supervision *supervision, uint64_t sum_bytes)
{
    uint64_t limit = supervision->limits.memory_bytes;
    uint64_t less =
        sum_bytes > supervision->common_bytes ? sum_bytes - supervision->common_bytes : 0;
    if (!exceeds(sum_bytes, limit) ||
        (!exceeds(less, limit) && now_us() < supervision->next_parts_us))
        return less;
    struct tree_use parts = {.spared = supervision->spared,
                             .inheritance = supervision->inheritance};
    (void)process_tree_walk(getpid(), add_part, &parts);
    if (parts.processes == 1) /* what it has in common is its original's */
        parts.memory_bytes = parts.own_bytes;
    supervision->common_bytes = sum_bytes > parts.memory_bytes ? sum_bytes - parts.memory_bytes : 0;
    supervision->next_parts_us = now_us() + LOOK_PARTS_US;
    return parts.memory_bytes;
}

/* Everything but the number of processes. */
static enum run_cause look_closely(struct supervision *supervision, uint64_t begin_us)
{
    struct scratch_use scratch;
    struct tree_use use = {.spared = supervision->spared, .beginning = supervision->beginning};
    if (begin_us >= supervision->next_scratch_us) {
        scratch_use_count(supervision->directory, supervision->limits.scratch_inodes, &scratch);
        use.scratch = &scratch;
    }
    (void)process_tree_walk(getpid(), add_process, &use);
    use.memory_bytes = common_bytes_off(supervision, use.memory_bytes);
    if (use.scratch)
        supervision->socket_bytes = use.scratch->sockets * supervision->bytes_of_socket;
    use.memory_bytes += supervision->socket_bytes;
    if (use.memory_bytes > supervision->peak_memory_bytes)
        supervision->peak_memory_bytes = use.memory_bytes;
    supervision->is_near =
        exceeds(use.memory_bytes, supervision->limits.memory_bytes / 2) ||
        (use.scratch && exceeds(use.scratch->bytes, supervision->limits.scratch_bytes / 2));
    return exceeded_limit(supervision, &use);
}

enum run_cause supervision_look(struct supervision *supervision)
{
    uint64_t begin_us = now_us();
    uint64_t cpu_us = time_of(CLOCK_PROCESS_CPUTIME_ID);
    struct tree_use use = {.spared = supervision->spared, .most = supervision->limits.processes};
    if (!supervision->directory || begin_us < supervision->next_us)
        return RUN_CAUSE_EXIT;
    (void)process_tree_walk(getpid(), count_threads, &use);
    if (exceeds(use.processes, supervision->limits.processes))
        return RUN_CAUSE_PROCESS_LIMIT;
    if (use.processes > supervision->peak_processes)
        supervision->peak_processes = use.processes;
    if (supervision->rests && !use.is_awake) {
        supervision->next_us = supervision->next_close_us = supervision->next_scratch_us =
            now_us() + LOOK_RESTING_US;
        return RUN_CAUSE_EXIT;
    }
    if (supervision->rests) /* one that has itself sent on by a timer */
        whole_tree_signal(SIGSTOP);
    supervision->next_us = later(time_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_us, LOOK_US);
    if (begin_us < supervision->next_close_us)
        return RUN_CAUSE_EXIT;
    enum run_cause exceeded = look_closely(supervision, begin_us);
    uint64_t cost_us = time_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_us;
    bool is_near = supervision->is_near;
    supervision->next_close_us = later(cost_us, is_near ? LOOK_NEAR_US : LOOK_US);
    if (is_near)
        supervision->next_us = supervision->next_close_us;
    if (begin_us >= supervision->next_scratch_us)
        supervision->next_scratch_us = later(cost_us, is_near ? LOOK_NEAR_US : LOOK_SCRATCH_US);
    return exceeded;
}
