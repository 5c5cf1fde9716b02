/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the event loop and the table of living runs: see supervisor.h. */
#include "supervisor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "../../cleanup.h"
#include "run.h"

#define RUNS_LIMIT      1024
#define EVENTS_AT_ONCE  64
#define SWEEP_PAUSE_US  10000  /* between attempts on a busy cgroup */
#define DEAD_PAUSE_US   100000 /* between attempts on those of the dead */
#define DEAD_SWEEPS     100
#define SHUTDOWN_US     (UINT64_C(5) * 1000000) /* for the kernel to tear everything down */
#define TAG_SOURCE_BITS 2
#define TAG_CONTROL     UINT64_MAX
#define TAG_HOST        (UINT64_MAX - 1)

struct supervisor {
    int epoll;
    int control; /* -1 once it has ended */
    struct run_environment environment;
    struct run *runs[RUNS_LIMIT]; /* by slot */
    struct cgroup *busy;          /* groups the kernel has not let go of yet */
    size_t busy_count;
    unsigned int sweeps; /* of dead supervisors' groups that are still to be tried */
    uint64_t next_sweep_us;
};

static int watch(const struct supervisor *supervisor, int fd, uint64_t tag)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = tag};
    return epoll_ctl(supervisor->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void remove_or_keep_cgroup(struct supervisor *supervisor, struct cgroup *cgroup)
{
    if (cgroup_remove(cgroup) == 0)
        return;
    struct cgroup *busy = reallocarray(supervisor->busy, supervisor->busy_count + 1, sizeof(*busy));
    if (!busy)
        return;
    busy[supervisor->busy_count++] = *cgroup;
    supervisor->busy = busy;
}

static void sweep_busy_cgroups(struct supervisor *supervisor)
{
    size_t kept = 0;
    for (size_t i = 0; i < supervisor->busy_count; i++)
        if (cgroup_remove(&supervisor->busy[i]) < 0)
            supervisor->busy[kept++] = supervisor->busy[i];
    supervisor->busy_count = kept;
}

static void forget_run(struct supervisor *supervisor, uint32_t slot)
{
    struct cgroup cgroup;
    run_free(TAKE_POINTER(supervisor->runs[slot]), &cgroup);
    remove_or_keep_cgroup(supervisor, &cgroup);
}

static int watch_run(const struct supervisor *supervisor, const struct run *run)
{
    for (unsigned int source = 0; source < RUN_SOURCE_COUNT; source++) {
        uint64_t tag = (uint64_t)run_slot(run) << TAG_SOURCE_BITS | source;
        if (watch(supervisor, run_source_fd(run, (enum run_source)source), tag) < 0)
            return -1;
    }
    return 0;
}

static uint32_t free_slot(const struct supervisor *supervisor)
{
    uint32_t slot = 0;
    while (slot < RUNS_LIMIT && supervisor->runs[slot])
        slot++;
    return slot;
}

static void start_run(struct supervisor *supervisor, const int fds[RUN_FD_COUNT])
{
    uint32_t slot = free_slot(supervisor);
    if (slot == RUNS_LIMIT) {
        run_refuse(fds, EAGAIN, "too many runs at once");
        return;
    }
    struct run *run = run_start(&supervisor->environment, slot, fds);
    if (!run)
        return;
    supervisor->runs[slot] = run;
    /* Without its events the run could not be ended in order. */
    if (watch_run(supervisor, run) < 0)
        run_fail_watch(run, errno);
}

/* false: the plugin has closed its end. */
static bool handle_control(struct supervisor *supervisor)
{
    char kind = 0;
    int fds[RUN_FD_COUNT];
    size_t count = 0;
    ssize_t length =
        channel_receive(supervisor->control, &kind, sizeof(kind), fds, COUNT_OF(fds), &count);
    if (length < 0)
        return errno == EAGAIN || errno == EINTR || errno == EMSGSIZE || errno == ENOMEM ||
               errno == ENOBUFS;
    if (length == 1 && kind == CONTROL_RUN && count == RUN_FD_COUNT) {
        start_run(supervisor, fds);
        return true;
    }
    for (size_t i = 0; i < count; i++)
        close_fd(fds[i]);
    return length > 0;
}

static void handle_run(struct supervisor *supervisor, uint64_t tag)
{
    uint32_t slot = (uint32_t)(tag >> TAG_SOURCE_BITS);
    struct run *run = supervisor->runs[slot];
    enum run_source source = (enum run_source)(tag & ((1U << TAG_SOURCE_BITS) - 1));
    /* An event may come after the run it was for has ended in the same batch; handling it for the
     * slot's next run is harmless, as every source is read without waiting. */
    if (!run || run_source_fd(run, source) < 0)
        return;
    if (run_handle(run, source))
        forget_run(supervisor, slot);
}

static bool is_run(pid_t pid, void *user)
{
    const struct supervisor *supervisor = user;
    for (size_t i = 0; i < RUNS_LIMIT; i++)
        if (supervisor->runs[i] && run_pid(supervisor->runs[i]) == pid)
            return true;
    return false;
}

/* The time of the next attempt, 0 for none. */
static uint64_t sweep_the_dead(struct supervisor *supervisor, uint64_t now)
{
    struct cgroup_base *base = &supervisor->environment.cgroups;
    if (base->unswept == 0 || supervisor->sweeps == 0)
        return 0;
    if (now < supervisor->next_sweep_us)
        return supervisor->next_sweep_us;
    cgroup_base_sweep(base);
    supervisor->sweeps--;
    supervisor->next_sweep_us = now + DEAD_PAUSE_US;
    return supervisor->next_sweep_us;
}

/* Ends what is due; the time of the next thing that will be, 0 for none. */
static uint64_t expire_runs(struct supervisor *supervisor)
{
    uint64_t now = monotonic_us();
    uint64_t next = sweep_the_dead(supervisor, now);
    if (supervisor->busy_count && (next == 0 || now + SWEEP_PAUSE_US < next))
        next = now + SWEEP_PAUSE_US;
    for (size_t i = 0; i < RUNS_LIMIT; i++) {
        if (!supervisor->runs[i])
            continue;
        uint64_t deadline = run_deadline(supervisor->runs[i]);
        if (deadline && deadline <= now && run_expire(supervisor->runs[i], is_run, supervisor)) {
            forget_run(supervisor, (uint32_t)i);
            continue;
        }
        deadline = run_deadline(supervisor->runs[i]);
        if (deadline && (next == 0 || deadline < next))
            next = deadline;
    }
    return next;
}

static int milliseconds_until(uint64_t when)
{
    if (when == 0)
        return -1;
    uint64_t now = monotonic_us();
    uint64_t wait = when > now ? (when - now + 999) / 1000 : 0;
    return wait > 3600000 ? 3600000 : (int)wait;
}

/* One round of the loop. false: the host has ended. */
static bool serve_once(struct supervisor *supervisor, uint64_t latest)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    uint64_t next = expire_runs(supervisor);
    if (latest && (next == 0 || latest < next))
        next = latest;
    int count = epoll_wait(supervisor->epoll, events, EVENTS_AT_ONCE, milliseconds_until(next));
    if (count < 0 && errno != EINTR)
        return false;
    bool alive = true;
    for (int i = 0; i < count; i++) {
        if (events[i].data.u64 == TAG_HOST)
            alive = false;
        else if (events[i].data.u64 == TAG_CONTROL)
            alive = handle_control(supervisor) && alive;
        else
            handle_run(supervisor, events[i].data.u64);
    }
    if (supervisor->busy_count)
        sweep_busy_cgroups(supervisor);
    return alive;
}

static bool has_runs(const struct supervisor *supervisor)
{
    for (size_t i = 0; i < RUNS_LIMIT; i++)
        if (supervisor->runs[i])
            return true;
    return supervisor->busy_count > 0;
}

static void shut_down(struct supervisor *supervisor, int host_pidfd)
{
    (void)epoll_ctl(supervisor->epoll, EPOLL_CTL_DEL, supervisor->control, NULL);
    (void)epoll_ctl(supervisor->epoll, EPOLL_CTL_DEL, host_pidfd, NULL);
    for (size_t i = 0; i < RUNS_LIMIT; i++)
        if (supervisor->runs[i])
            run_abandon(supervisor->runs[i]);
    uint64_t latest = monotonic_us() + SHUTDOWN_US;
    while (has_runs(supervisor) && monotonic_us() < latest)
        (void)serve_once(supervisor, latest);
    cgroup_base_remove(&supervisor->environment.cgroups);
}

int supervisor_serve(int control, int host_pidfd)
{
    static struct supervisor supervisor; /* the process is one; its size is not for the stack */
    CLEANUP_CLOSE int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0)
        return -1;
    supervisor.epoll = epoll;
    supervisor.control = control;
    struct run_environment *environment = &supervisor.environment;
    if (watch(&supervisor, control, TAG_CONTROL) < 0 ||
        watch(&supervisor, host_pidfd, TAG_HOST) < 0 ||
        getrandom(&environment->first_outer_uid, sizeof(environment->first_outer_uid), 0) < 0)
        return -1;
    /* Without filters every sandboxed run is refused by that layer, and without knowledge of the
     * ids by the user namespace; each run asks for them again. Unconfined ones still run. */
    (void)seccomp_filters_make(&environment->filters);
    cgroup_base_find(&environment->cgroups);
    outer_ids_find(&environment->outer_ids);
    environment->namespaces_known = namespaces_read(&environment->namespaces);
    supervisor.sweeps = DEAD_SWEEPS;
    struct backend_hello hello = {.protocol_version = PROTOCOL_VERSION, .pid = (int32_t)getpid()};
    if (channel_send(control, &hello, sizeof(hello), NULL, 0) == 0)
        while (serve_once(&supervisor, 0))
            ;
    shut_down(&supervisor, host_pidfd);
    free(supervisor.busy);
    return 0;
}
