/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the event loop of a backend of containers and the table of its living runs: it takes runs
 * from the control socket and waits for everything at once. Single-threaded. See supervisor.h.
 */
#include "backends/guest_runs/supervisor/supervisor.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include "backends/common/control.h"
#include "backends/guest_runs/container/container.h"
#include "backends/guest_runs/pool/pool.h"
#include "backends/guest_runs/run/run.h"
#include "base/cleanup.h"

#define RUNS_LIMIT    1024
#define SHUTDOWN_US   (UINT64_C(20) * 1000000) /* for the engine to remove everything */
#define LONGEST_MS    60000
#define FIXED_WATCHES 2
/* One stream for each run, and one for each container that waits for a run. */
#define WATCHES_LIMIT (FIXED_WATCHES + RUNS_LIMIT * (RUN_WATCHES_LIMIT + 1) + RUN_POOL_LIMIT)

struct supervisor {
    int control;
    int host;
    bool serving; /* false: shutting down, and neither of them is looked at */
    struct guest_environment *environment;
    struct warm_pool warm_pools[WARM_POOLS];
    struct run *runs[RUNS_LIMIT];
    struct curl_waitfd watches[WATCHES_LIMIT];
};

static const struct container_events container_events = {
    .ready = pool_put,
    .lost = pool_lose,
    .waits = run_check_guest,
    .started = run_report_start,
    .added = run_container_added,
    .missing = run_container_missing,
    .failed = run_container_failed,
    .measured = run_measured,
    .restored = run_cell_restored,
    .parked = run_branch_parked,
    .ended = run_container_ended,
    .finished = run_container_finished,
    .gone = run_container_gone,
};

static void start_run(void *user, const int fds[RUN_FD_COUNT])
{
    struct supervisor *supervisor = user;
    size_t slot = 0;
    while (slot < RUNS_LIMIT && supervisor->runs[slot])
        slot++;
    if (slot == RUNS_LIMIT)
        run_refuse(fds, EAGAIN, "too many runs at once");
    else
        supervisor->runs[slot] = run_start(supervisor->environment, fds);
}

static void count_pool(void *user, struct pool_report *ret)
{
    const struct supervisor *supervisor = user;
    pool_count(supervisor->environment, ret);
}

static const struct control_handler control_handler = {.start_run = start_run,
                                                       .count_pool = count_pool};

static size_t collect_watches(struct supervisor *supervisor)
{
    struct curl_waitfd *watches = supervisor->watches;
    size_t count = 0;
    if (supervisor->serving) {
        watches[count++] =
            (struct curl_waitfd){.fd = supervisor->control, .events = CURL_WAIT_POLLIN};
        watches[count++] = (struct curl_waitfd){.fd = supervisor->host, .events = CURL_WAIT_POLLIN};
    }
    for (size_t i = 0; i < RUNS_LIMIT; i++)
        if (supervisor->runs[i])
            count += run_watches(supervisor->runs[i], watches + count);
    for (const struct container *container = supervisor->environment->containers;
         container && count < COUNT_OF(supervisor->watches); container = container->next) {
        short interest = container_stream_interest(container);
        if (interest)
            watches[count++] = (struct curl_waitfd){
                .fd = supervisor->environment->provider->form->fd(container), .events = interest};
    }
    return count;
}

static bool has_runs(const struct supervisor *supervisor)
{
    for (size_t i = 0; i < RUNS_LIMIT; i++)
        if (supervisor->runs[i])
            return true;
    return false;
}

/* The earlier of a time to wait and one to be awake at; 0: at none. */
static uint64_t wait_until(uint64_t wait_us, uint64_t until, uint64_t now)
{
    if (until == 0 || until >= now + wait_us)
        return wait_us;
    return until > now ? until - now : 0;
}

static uint64_t expire_runs(struct supervisor *supervisor, uint64_t wait_us, uint64_t now)
{
    for (size_t i = 0; i < RUNS_LIMIT; i++) {
        struct run *run = supervisor->runs[i];
        if (!run)
            continue;
        if (run_deadline(run) && run_deadline(run) <= now)
            run_expire(run);
        wait_us = run_is_over(run) ? 0 : wait_until(wait_us, run_deadline(run), now);
    }
    return wait_us;
}

static uint64_t expire_containers(struct supervisor *supervisor, uint64_t wait_us, uint64_t now)
{
    for (struct container *container = supervisor->environment->containers; container;
         container = container->next) {
        if (container->deadline_us && container->deadline_us <= now)
            container_expire(container);
        if (container_is_over(container) || container_stream_is_ready(container))
            wait_us = 0;
        else
            wait_us = wait_until(wait_us, container->deadline_us, now);
    }
    return wait_us;
}

/* Ends what is due; how long until the next thing that will be, in milliseconds. */
static int expire(struct supervisor *supervisor)
{
    struct guest_environment *environment = supervisor->environment;
    uint64_t now = monotonic_us();
    uint64_t wait_us = UINT64_C(1000) * LONGEST_MS;
    if (supervisor->serving) {
        bool busy = has_runs(supervisor);
        pool_fill(environment, busy, now);
        wait_us = wait_until(wait_us, pool_expire(environment, busy, now), now);
    }
    wait_us = expire_runs(supervisor, wait_us, now);
    wait_us = expire_containers(supervisor, wait_us, now);
    return (int)((wait_us + 999) / 1000);
}

/* After the runs, because a run may just have given up its container. */
static void handle_containers(struct supervisor *supervisor)
{
    for (struct container **place = &supervisor->environment->containers; *place;) {
        struct container *container = *place;
        container_handle(container);
        if (!container_is_over(container)) {
            place = &container->next;
            continue;
        }
        *place = container->next;
        container_free(container);
    }
}

static void handle_runs(struct supervisor *supervisor)
{
    for (size_t i = 0; i < RUNS_LIMIT; i++) {
        struct run *run = supervisor->runs[i];
        if (!run)
            continue;
        run_handle(run);
        if (run_is_over(run))
            run_free(TAKE_POINTER(supervisor->runs[i]));
    }
}

/* poll() rather than the watches' results, which libcurl may leave out. */
static bool is_ready(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    return poll(&ready, 1, 0) > 0;
}

/* One round of the loop. false: the host has ended. */
static bool serve_once(struct supervisor *supervisor)
{
    int timeout_ms = expire(supervisor);
    size_t count = collect_watches(supervisor);
    if (supervisor->environment->provider->wait(supervisor->environment, supervisor->watches, count,
                                                timeout_ms) < 0)
        return false;
    bool alive = true;
    if (supervisor->serving && is_ready(supervisor->host))
        alive = false;
    if (supervisor->serving && alive && is_ready(supervisor->control))
        alive = control_handle(supervisor->control, &control_handler, supervisor);
    handle_containers(supervisor);
    handle_runs(supervisor);
    if (supervisor->environment->provider->handle)
        supervisor->environment->provider->handle(supervisor->environment);
    return alive;
}

static bool is_busy(const struct supervisor *supervisor)
{
    const struct guest_environment *environment = supervisor->environment;
    return has_runs(supervisor) || environment->containers ||
           (environment->provider->is_busy && environment->provider->is_busy(environment));
}

/* Runs that have answered may still have containers: the backend ends when all are gone. */
static void shut_down(struct supervisor *supervisor)
{
    struct guest_environment *environment = supervisor->environment;
    supervisor->serving = false;
    environment->closing = true;
    for (size_t i = 0; i < RUNS_LIMIT; i++)
        if (supervisor->runs[i])
            run_abandon(supervisor->runs[i]);
    pool_empty(environment);
    if (environment->provider->close)
        environment->provider->close(environment);
    uint64_t latest = monotonic_us() + SHUTDOWN_US;
    while (is_busy(supervisor) && monotonic_us() < latest)
        (void)serve_once(supervisor);
    for (size_t i = 0; i < RUNS_LIMIT; i++)
        if (supervisor->runs[i])
            run_free(TAKE_POINTER(supervisor->runs[i]));
    while (environment->containers) {
        struct container *container = environment->containers;
        environment->containers = container->next;
        container_free(container);
    }
}

bool supervisor_serve(struct guest_environment *environment, int host_pidfd)
{
    static struct supervisor supervisor; /* the process is one; its size is not for the stack */
    supervisor.control = BACKEND_CONTROL_FD;
    supervisor.host = host_pidfd;
    supervisor.serving = true;
    supervisor.environment = environment;
    environment->events = &container_events;
    environment->warm_pools = supervisor.warm_pools;
    (void)signal(SIGPIPE, SIG_IGN); /* pipes to a plugin that has gone */
    bool greeted = control_greet(supervisor.control) == 0;
    while (greeted && serve_once(&supervisor))
        continue;
    shut_down(&supervisor);
    return greeted;
}
