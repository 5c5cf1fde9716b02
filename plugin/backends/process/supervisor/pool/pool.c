/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the sandboxes that are ready: see pool.h. Runs in the supervisor. */
#include "backends/process/supervisor/pool/pool.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "backends/common/run_answer.h"
#include "backends/process/sandbox/interpreter_command.h"
#include "backends/process/sandbox/sandbox.h"
#include "backends/process/supervisor/pool/interpreter_trial.h"
#include "base/cleanup.h"
#include "protocol/run_event.h"

#define RETRY_US       (UINT64_C(1) * 1000000)
#define FAILURES_LIMIT 3
#define SETTLING_US    UINT64_C(2000000) /* in which an interpreter imports its modules, mostly */
#define PERIODS        4 /* of demand in the time after which an unused warm pool is emptied */

bool pool_open(struct pool *ret, struct run_environment *environment, struct reaper *reaper)
{
    ret->environment = environment;
    ret->reaper = reaper;
    ret->epoll = epoll_create1(EPOLL_CLOEXEC);
    return ret->epoll >= 0;
}

static bool is_used(const struct warm_pool *warm_pool)
{
    return warm_pool->template.workspace != NULL;
}

/* The oldest, NULL where there is none. */
static struct sandbox_handle *take_oldest(struct warm_pool *warm_pool)
{
    struct sandbox_handle *process = warm_pool->first;
    if (!process)
        return NULL;
    warm_pool->first = TAKE_POINTER(process->next);
    warm_pool->count--;
    return process;
}

static void unwatch_sandbox(const struct pool *pool, const struct sandbox_handle *process)
{
    (void)epoll_ctl(pool->epoll, EPOLL_CTL_DEL, process->report, NULL);
}

/* A ready one of the warm pool; NULL where there is none, or the next one has failed. */
static struct sandbox_handle *take_ready(struct pool *pool, struct warm_pool *warm_pool)
{
    if (!warm_pool->first || sandbox_handle_stirs(warm_pool->first))
        return NULL;
    struct sandbox_handle *process = take_oldest(warm_pool);
    if (process)
        unwatch_sandbox(pool, process);
    warm_pool->failures = 0;
    return process;
}

static void end_fork_server(const struct pool *pool, struct fork_server *fork_server)
{
    if (fork_server)
        (void)epoll_ctl(pool->epoll, EPOLL_CTL_DEL, fork_server->socket, NULL);
    fork_server_end(fork_server);
}

/* NULL: it may be copied. */
static void do_without_copying(struct warm_pool *warm_pool, const struct preparation_outcome *why)
{
    warm_pool->without_copying = why != NULL;
    if (why)
        warm_pool->outcome = *why;
}

static void do_without_interpreter(struct warm_pool *warm_pool, enum preparation_kind why)
{
    warm_pool->without_interpreter = true;
    warm_pool->outcome = (struct preparation_outcome){.kind = why};
}

/* The next attempt is later the oftener it went wrong; in the end the interpreter is left out. */
static void note_failure(struct warm_pool *warm_pool, uint64_t now)
{
    warm_pool->not_before_us = now + (RETRY_US << warm_pool->failures);
    if (warm_pool->failures < FAILURES_LIMIT)
        warm_pool->failures++;
    else if (warm_pool->template.interpreter.kind != RUN_INTERPRETER_NONE)
        do_without_interpreter(warm_pool, PREPARATION_FAILED);
}

/* Follows the state of the warm pool's fork servers. */
static void look_at_fork_server(const struct pool *pool, struct warm_pool *warm_pool, uint64_t now)
{
    if (warm_pool->successor) {
        fork_server_look(warm_pool->successor, now);
        if (warm_pool->successor->state != FORK_SERVER_STARTING) {
            end_fork_server(pool, warm_pool->fork_server);
            warm_pool->fork_server = TAKE_POINTER(warm_pool->successor);
        }
    }
    if (!warm_pool->fork_server)
        return;
    fork_server_look(warm_pool->fork_server, now);
    if (warm_pool->fork_server->state == FORK_SERVER_IMPOSSIBLE)
        do_without_copying(warm_pool, &warm_pool->fork_server->outcome);
    else if (warm_pool->fork_server->state == FORK_SERVER_GONE)
        note_failure(warm_pool, now);
    else
        return;
    end_fork_server(pool, TAKE_POINTER(warm_pool->fork_server));
}

static bool can_be_copied(const struct warm_pool *warm_pool)
{
    return warm_pool->fork_server && warm_pool->fork_server->state == FORK_SERVER_WAITING;
}

struct sandbox_handle *pool_obtain(struct pool *pool, const struct sandbox_template *template,
                                   uint64_t now, uint32_t *ret_origin,
                                   struct launch_failure *reterr)
{
    const struct sandbox_template without = sandbox_template_without_interpreter(template);
    struct warm_pool *warm_pool = pool_find(pool, template);
    if (warm_pool)
        warm_pool_size_note(&warm_pool->size, warm_pool->count);
    /* What is ready has no room for files by reference. */
    bool may_be_ready = warm_pool && template->input_bytes == 0;
    struct sandbox_handle *process = may_be_ready ? take_ready(pool, warm_pool) : NULL;
    *ret_origin = SANDBOX_READY;
    if (!process && warm_pool && can_be_copied(warm_pool)) {
        *ret_origin = SANDBOX_COPIED;
        process = sandbox_handle_make(pool->environment, template, warm_pool->fork_server, reterr);
        if (!process)
            look_at_fork_server(pool, warm_pool, now);
    }
    if (process)
        return process;
    *ret_origin = SANDBOX_NEW;
    return sandbox_handle_make(pool->environment, &without, NULL, reterr);
}

static void discard_sandbox(const struct pool *pool, struct sandbox_handle *process)
{
    unwatch_sandbox(pool, process);
    sandbox_handle_discard(process);
    reaper_add(pool->reaper, process);
}

static void empty_warm_pool(struct pool *pool, struct warm_pool *warm_pool)
{
    struct sandbox_handle *process;
    while ((process = take_oldest(warm_pool)))
        discard_sandbox(pool, process);
    if (warm_pool->trial)
        discard_sandbox(pool, TAKE_POINTER(warm_pool->trial));
    end_fork_server(pool, warm_pool->fork_server);
    end_fork_server(pool, warm_pool->successor);
    sandbox_template_clear(&warm_pool->template);
    *warm_pool = (struct warm_pool){.count = 0};
}

/* The owner of an interpreter may change the file that it executes, in a copy the host's. */
static bool program_may_own_interpreter(const struct host_ids *host_ids,
                                        const struct sandbox_template *template)
{
    return geteuid() == 0 &&
           !host_ids_have(host_ids, template->outer_uid_base, template->outer_uid_count);
}

/* An interpreter that did not wait would run a file of the host by the program's name, outside of
 * any sandbox. */
static bool host_has_home(void)
{
    return access(SANDBOX_HOME, F_OK) == 0 || errno != ENOENT;
}

/* Decides what the template alone tells, without an attempt. */
static void judge_template(const struct pool *pool, struct warm_pool *warm_pool)
{
    struct preparation_outcome why = {.kind = PREPARATION_OPEN};
    bool has_view = warm_pool->template.isolation == RUN_ISOLATION_SANDBOX;
    if (!warm_pool->template.interpreter.fork)
        why.kind = PREPARATION_BY_POLICY;
    else if (!has_view)
        why.kind = PREPARATION_OPEN; /* Landlock keeps its programs from the file; COPY_HOME */
    else if (host_has_home())
        preparation_set(&why, PREPARATION_HOME_ON_HOST, SANDBOX_HOME);
    else if (program_may_own_interpreter(&pool->environment->host_ids, &warm_pool->template))
        why.kind = PREPARATION_OWNED_BY_PROGRAM;
    do_without_copying(warm_pool, why.kind == PREPARATION_OPEN ? NULL : &why);
    if (!interpreter_files(warm_pool->template.interpreter.kind))
        do_without_interpreter(warm_pool, PREPARATION_NO_FILES);
}

static bool wants_fork_server(const struct warm_pool *warm_pool)
{
    return !warm_pool->without_copying && !warm_pool->without_interpreter;
}

/* NULL: all are in use, or there is no memory for its template. */
static struct warm_pool *new_warm_pool(struct pool *pool, const struct sandbox_template *template)
{
    for (size_t i = 0; i < WARM_POOLS; i++) {
        struct warm_pool *warm_pool = &pool->warm_pools[i];
        if (is_used(warm_pool))
            continue;
        if (!sandbox_template_copy(template, &warm_pool->template))
            return NULL;
        warm_pool->template.input_bytes = 0; /* the run's own */
        judge_template(pool, warm_pool);
        warm_pool->untried = wants_fork_server(warm_pool) && template->interpreter.named_modules &&
                             template->interpreter.named_modules[0];
        return warm_pool;
    }
    return NULL;
}

void pool_demand(struct pool *pool, const struct sandbox_template *template,
                 const struct run_description *description, uint64_t now)
{
    struct warm_pool *warm_pool = pool_find(pool, template);
    /* The path of a workspace may lead to another directory later. Of endpoints, the listener goes
     * to one run's broker as the sandbox is made. */
    if (!warm_pool && description->pool_size > 0 && template->workspace[0] == '\0' &&
        !template->endpoints)
        warm_pool = new_warm_pool(pool, template);
    if (!warm_pool)
        return;
    uint64_t memory = warm_pool->limits.memory_bytes;
    warm_pool->limits = description->limits;
    /* A run that has little memory decides nothing for others: each gets its own limit later. */
    if (memory > description->limits.memory_bytes)
        warm_pool->limits.memory_bytes = memory;
    warm_pool->idle_us = description->pool_idle_ms * 1000;
    warm_pool_size_set(&warm_pool->size, description->pool_size, description->pool_most,
                       warm_pool->idle_us / PERIODS, now);
    pool->memory_limit = description->pool_memory;
    warm_pool->used_us = now;
}

/* The first interpreter that is copied, or one to take its place. */
static bool is_fork_server_due(const struct warm_pool *warm_pool, uint64_t now)
{
    if (!wants_fork_server(warm_pool) || !warm_pool->fork_server)
        return wants_fork_server(warm_pool);
    return !warm_pool->successor &&
           fork_server_is_old(warm_pool->fork_server, &warm_pool->template.interpreter, now);
}

/* Is there something to do for it? */
static bool warm_pool_is_short(const struct warm_pool *warm_pool, bool busy, uint64_t now)
{
    uint32_t wanted = busy ? (warm_pool->size.wanted + 1) / 2 : warm_pool->size.wanted;
    if (!is_used(warm_pool) || now < warm_pool->not_before_us || warm_pool->size.wanted == 0)
        return false;
    if (warm_pool->untried)
        return !warm_pool->trial;
    if (is_fork_server_due(warm_pool, now))
        return true;
    return warm_pool->count < wanted && (!wants_fork_server(warm_pool) || can_be_copied(warm_pool));
}

uint32_t pool_kind(const struct warm_pool *warm_pool)
{
    return warm_pool->without_interpreter ? RUN_INTERPRETER_NONE
                                          : warm_pool->template.interpreter.kind;
}

static struct warm_pool *short_warm_pool(struct pool *pool, bool busy, uint64_t now)
{
    uint32_t ready = 0;
    struct warm_pool *found = NULL;
    for (size_t i = 0; i < WARM_POOLS; i++) {
        struct warm_pool *warm_pool = &pool->warm_pools[i];
        ready += warm_pool->count;
        if (warm_pool_is_short(warm_pool, busy, now) && pool_has_memory_for(pool, warm_pool))
            found = warm_pool;
    }
    return ready < RUN_POOL_LIMIT ? found : NULL;
}

bool pool_is_short(struct pool *pool, bool busy, uint64_t now)
{
    return short_warm_pool(pool, busy, now) != NULL;
}

static void watch_fd(const struct pool *pool, int fd)
{
    /* Unwatched, it is still looked at before it is used. */
    struct epoll_event event = {.events = EPOLLIN};
    (void)epoll_ctl(pool->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void start_fork_server(const struct pool *pool, struct warm_pool *warm_pool, uint64_t now)
{
    struct fork_server *fork_server = fork_server_start(
        &warm_pool->template, &pool->environment->filters, &pool->environment->namespaces, now);
    if (!fork_server) {
        note_failure(warm_pool, now);
        return;
    }
    watch_fd(pool, fork_server->socket);
    if (warm_pool->fork_server)
        warm_pool->successor = fork_server;
    else
        warm_pool->fork_server = fork_server;
}

static void put_ready(struct warm_pool *warm_pool, struct sandbox_handle *process)
{
    struct sandbox_handle **place = &warm_pool->first;
    while (*place)
        place = &(*place)->next;
    *place = process;
    warm_pool->count++;
}

/* As the warm pool's sandboxes are made. */
static struct sandbox_handle *make_sandbox(const struct pool *pool, struct warm_pool *warm_pool)
{
    struct launch_failure failure;
    const struct sandbox_template without =
        sandbox_template_without_interpreter(&warm_pool->template);
    const struct sandbox_template started = sandbox_template_without_copying(&warm_pool->template);
    if (wants_fork_server(warm_pool))
        return sandbox_handle_make(pool->environment, &warm_pool->template, warm_pool->fork_server,
                                   &failure);
    return sandbox_handle_make(
        pool->environment, warm_pool->without_interpreter ? &without : &started, NULL, &failure);
}

static void start_trial(const struct pool *pool, struct warm_pool *warm_pool, uint64_t now)
{
    warm_pool->trial =
        interpreter_trial_start(&warm_pool->template, &warm_pool->limits, pool->environment);
    warm_pool->trial_until_us = now + INTERPRETER_TRIAL_US;
    if (warm_pool->trial)
        watch_fd(pool, warm_pool->trial->report);
    else
        note_failure(warm_pool, now);
}

/* A trial that ends without a report, or exceeds its time, has failed. */
static void look_at_trial(const struct pool *pool, struct warm_pool *warm_pool, uint64_t now)
{
    if (!warm_pool->trial ||
        (!sandbox_handle_stirs(warm_pool->trial) && now < warm_pool->trial_until_us))
        return;
    struct preparation_outcome why;
    warm_pool->untried = false;
    do_without_copying(warm_pool, interpreter_trial_was_good(warm_pool->trial, &why) ? NULL : &why);
    discard_sandbox(pool, TAKE_POINTER(warm_pool->trial));
}

void pool_fill(struct pool *pool, bool busy, uint64_t now)
{
    struct warm_pool *warm_pool = short_warm_pool(pool, busy, now);
    if (!warm_pool)
        return;
    if (warm_pool->untried) {
        start_trial(pool, warm_pool, now);
        return;
    }
    if (is_fork_server_due(warm_pool, now)) {
        start_fork_server(pool, warm_pool, now);
        return;
    }
    struct sandbox_handle *process = make_sandbox(pool, warm_pool);
    if (!process) {
        note_failure(warm_pool, now);
        look_at_fork_server(pool, warm_pool, now);
        return;
    }
    sandbox_handle_limit(process, &warm_pool->limits);
    watch_fd(pool, process->report);
    put_ready(warm_pool, process);
    /* What one has held before says more than what a new one holds at once. */
    uint64_t memory = pool_memory_of_one(warm_pool);
    if (warm_pool->memory_bytes < memory)
        warm_pool->memory_bytes = memory;
    warm_pool->settled_us = now + SETTLING_US;
}

static void discard_stirring(const struct pool *pool, struct warm_pool *warm_pool, uint64_t now)
{
    for (uint32_t left = warm_pool->count; left > 0; left--) {
        struct sandbox_handle *process = take_oldest(warm_pool);
        if (!process)
            return;
        if (!sandbox_handle_stirs(process)) {
            put_ready(warm_pool, process);
            continue;
        }
        discard_sandbox(pool, process);
        note_failure(warm_pool, now);
    }
}

void pool_handle(struct pool *pool, uint64_t now)
{
    for (size_t i = 0; i < WARM_POOLS; i++) {
        discard_stirring(pool, &pool->warm_pools[i], now);
        look_at_trial(pool, &pool->warm_pools[i], now);
        look_at_fork_server(pool, &pool->warm_pools[i], now);
    }
}

/* When a warm pool must be looked at again at the latest. */
static uint64_t next_of_warm_pool(const struct warm_pool *warm_pool, uint64_t now)
{
    uint64_t next =
        earlier_us(warm_pool->used_us + warm_pool->idle_us, warm_pool->size.period_end_us);
    if (warm_pool->settled_us > 0)
        next = earlier_us(next, warm_pool->settled_us);
    if (warm_pool->not_before_us > now) /* the retry after a failure */
        next = earlier_us(next, warm_pool->not_before_us);
    if (warm_pool->trial)
        next = earlier_us(next, warm_pool->trial_until_us);
    if (warm_pool->fork_server)
        next = earlier_us(next, fork_server_deadline(warm_pool->fork_server));
    if (warm_pool->successor)
        return earlier_us(next, fork_server_deadline(warm_pool->successor));
    if (warm_pool->fork_server && warm_pool->not_before_us <= now)
        next = earlier_us(
            next, fork_server_renewal(warm_pool->fork_server, &warm_pool->template.interpreter));
    return next;
}

/* Removes sandboxes that no run has needed for a while. */
static void shrink_warm_pool(const struct pool *pool, struct warm_pool *warm_pool, uint64_t now)
{
    warm_pool_size_pass(&warm_pool->size, warm_pool->count, now);
    while (warm_pool->count > warm_pool->size.wanted) {
        struct sandbox_handle *process = take_oldest(warm_pool);
        if (process)
            discard_sandbox(pool, process);
    }
}

/* Several may have been made before the first had imported its modules, and held their memory. */
static void look_at_memory(const struct pool *pool, struct warm_pool *warm_pool)
{
    warm_pool->settled_us = 0;
    if (warm_pool->count == 0)
        return;
    warm_pool->memory_bytes = pool_memory_of_one(warm_pool);
    while (warm_pool->count > 1 && pool->memory_limit > 0 &&
           pool_held_memory(pool) > pool->memory_limit) {
        struct sandbox_handle *process = take_oldest(warm_pool);
        if (process)
            discard_sandbox(pool, process);
    }
}

uint64_t pool_expire(struct pool *pool, uint64_t now)
{
    uint64_t next = 0;
    for (size_t i = 0; i < WARM_POOLS; i++) {
        struct warm_pool *warm_pool = &pool->warm_pools[i];
        if (!is_used(warm_pool))
            continue;
        if (warm_pool->used_us + warm_pool->idle_us <= now) {
            empty_warm_pool(pool, warm_pool);
            continue;
        }
        if (next_of_warm_pool(warm_pool, now) <= now) {
            look_at_trial(pool, warm_pool, now);
            look_at_fork_server(pool, warm_pool, now);
            shrink_warm_pool(pool, warm_pool, now);
            look_at_memory(pool, warm_pool);
        }
        next = earlier_us(next, next_of_warm_pool(warm_pool, now));
    }
    return next;
}

void pool_empty(struct pool *pool)
{
    for (size_t i = 0; i < WARM_POOLS; i++)
        if (is_used(&pool->warm_pools[i]))
            empty_warm_pool(pool, &pool->warm_pools[i]);
}
