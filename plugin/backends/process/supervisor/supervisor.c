/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code-execute-process: the backend of process mode (and of mode none). Started by the plugin with
 * descriptor 3 as its control socket and nothing else; ends with the host. Owns the event loop and
 * the table of living runs: it takes runs from the control socket and waits for everything at once.
 * Single-threaded.
 */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

#include "backends/common/control.h"
#include "backends/process/supervisor/run.h"
#include "base/cleanup.h"

#define RUNS_LIMIT      2048 /* sessions are runs as well */
#define EVENTS_AT_ONCE  64
#define DEAD_PAUSE_US   100000 /* between attempts on those of the dead */
#define DEAD_SWEEPS     100
#define SHUTDOWN_US     (UINT64_C(5) * 1000000) /* for the kernel to tear everything down */
#define FILL_PAUSE_MS   1 /* behind the last answer, whose reader comes first */
#define TAG_SOURCE_BITS 2
#define TAG_CONTROL     UINT64_MAX
#define TAG_HOST        (UINT64_MAX - 1)
#define TAG_POOL        (UINT64_MAX - 2)
#define TAG_REAPER      (UINT64_MAX - 3)

struct supervisor {
    int epoll;
    int control; /* -1 once it has ended */
    struct run_environment environment;
    struct run *runs[RUNS_LIMIT]; /* by slot */
    size_t run_count;
    struct pool pool;
    struct reaper reaper;
    unsigned int sweeps; /* of dead supervisors' groups that are still to be tried */
    uint64_t next_sweep_us;
};

static int watch(const struct supervisor *supervisor, int fd, uint64_t tag)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = tag};
    return epoll_ctl(supervisor->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void unwatch(const struct supervisor *supervisor, int fd)
{
    if (fd >= 0)
        (void)epoll_ctl(supervisor->epoll, EPOLL_CTL_DEL, fd, NULL);
}

static void forget_run(struct supervisor *supervisor, uint32_t slot)
{
    struct sandbox_handle *process = run_free(TAKE_POINTER(supervisor->runs[slot]));
    supervisor->run_count--;
    unwatch(supervisor, process->pidfd);
    reaper_add(&supervisor->reaper, process);
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

static void start_run(void *user, const int fds[RUN_FD_COUNT])
{
    struct supervisor *supervisor = user;
    uint32_t slot = free_slot(supervisor);
    if (slot == RUNS_LIMIT) {
        run_refuse(fds, EAGAIN, "too many runs at once");
        return;
    }
    struct sandbox_handle *failed;
    struct run *run = run_start(&supervisor->pool, slot, fds, &failed);
    if (failed) {
        sandbox_handle_discard(failed);
        reaper_add(&supervisor->reaper, failed);
    }
    if (!run)
        return;
    supervisor->runs[slot] = run;
    supervisor->run_count++;
    /* Without its events the run could not be ended in order. */
    if (watch_run(supervisor, run) < 0)
        run_fail_watch(run, errno);
}

static void count_pool(void *user, struct pool_report *ret)
{
    const struct supervisor *supervisor = user;
    pool_count(&supervisor->pool, ret);
}

static const struct control_handler control_handler = {.start_run = start_run,
                                                       .count_pool = count_pool};

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
    return pool_has(&supervisor->pool, pid) || reaper_has(&supervisor->reaper, pid);
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
static uint64_t expire(struct supervisor *supervisor)
{
    uint64_t now = monotonic_us();
    uint64_t next = sweep_the_dead(supervisor, now);
    next = earlier_us(next, pool_expire(&supervisor->pool, now));
    next = earlier_us(next, reaper_next(&supervisor->reaper, now));
    for (size_t i = 0; i < RUNS_LIMIT; i++) {
        if (!supervisor->runs[i])
            continue;
        uint64_t deadline = run_deadline(supervisor->runs[i]);
        if (deadline && deadline <= now && run_expire(supervisor->runs[i], is_run, supervisor)) {
            forget_run(supervisor, (uint32_t)i);
            continue;
        }
        next = earlier_us(next, run_deadline(supervisor->runs[i]));
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

/* false: the host has ended, or the plugin has closed its end. */
static bool handle_event(struct supervisor *supervisor, uint64_t tag)
{
    switch (tag) {
    case TAG_HOST:
        return false;
    case TAG_CONTROL:
        return control_handle(supervisor->control, &control_handler, supervisor);
    case TAG_POOL:
        pool_handle(&supervisor->pool, monotonic_us());
        return true;
    case TAG_REAPER:
        return true; /* each round looks for them */
    default:
        handle_run(supervisor, tag);
        return true;
    }
}

/* One round of the loop. latest: when it is to return at the latest, 0: never. false: this is the
 * end. */
static bool serve_once(struct supervisor *supervisor, uint64_t latest)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    uint64_t next = earlier_us(expire(supervisor), latest);
    bool busy = supervisor->run_count > 0;
    bool fill = latest == 0 && pool_is_short(&supervisor->pool, busy, monotonic_us());
    int fill_ms = busy ? 0 : FILL_PAUSE_MS;
    int count = epoll_wait(supervisor->epoll, events, EVENTS_AT_ONCE,
                           fill ? fill_ms : milliseconds_until(next));
    if (count < 0 && errno != EINTR)
        return false;
    if (count == 0 && fill)
        pool_fill(&supervisor->pool, busy, monotonic_us());
    bool alive = true;
    for (int i = 0; i < count; i++)
        alive = handle_event(supervisor, events[i].data.u64) && alive;
    if (supervisor->reaper.first)
        reaper_handle(&supervisor->reaper);
    return alive;
}

static void shut_down(struct supervisor *supervisor, int host_pidfd)
{
    (void)epoll_ctl(supervisor->epoll, EPOLL_CTL_DEL, supervisor->control, NULL);
    (void)epoll_ctl(supervisor->epoll, EPOLL_CTL_DEL, host_pidfd, NULL);
    for (size_t i = 0; i < RUNS_LIMIT; i++)
        if (supervisor->runs[i])
            run_abandon(supervisor->runs[i]);
    pool_empty(&supervisor->pool);
    uint64_t latest = monotonic_us() + SHUTDOWN_US;
    while ((supervisor->run_count || supervisor->reaper.first) && monotonic_us() < latest)
        (void)serve_once(supervisor, latest);
    cgroup_base_remove(&supervisor->environment.cgroups);
}

/* Serves runs until the control socket or the host ends, then kills and tidies up all of them.
 * false where it could not start. */
static bool serve(int control, int host_pidfd)
{
    static struct supervisor supervisor; /* the process is one; its size is not for the stack */
    CLEANUP_CLOSE int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0)
        return false;
    supervisor.epoll = epoll;
    supervisor.control = control;
    if (!reaper_open(&supervisor.reaper, &supervisor.environment) ||
        !pool_open(&supervisor.pool, &supervisor.environment, &supervisor.reaper) ||
        watch(&supervisor, control, TAG_CONTROL) < 0 ||
        watch(&supervisor, host_pidfd, TAG_HOST) < 0 ||
        watch(&supervisor, supervisor.pool.epoll, TAG_POOL) < 0 ||
        watch(&supervisor, supervisor.reaper.epoll, TAG_REAPER) < 0 ||
        !run_environment_open(&supervisor.environment))
        return false;
    supervisor.sweeps = DEAD_SWEEPS;
    if (control_greet(control) == 0)
        while (serve_once(&supervisor, 0))
            ;
    shut_down(&supervisor, host_pidfd);
    return true;
}

int main(void)
{
    CLEANUP_CLOSE int host = backend_enter();
    /* Adopts orphans whose subreaper has died. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    return host < 0 || !serve(BACKEND_CONTROL_FD, host);
}
