/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the sandboxes that are ready: see pool.h. Runs in the supervisor. */
#include "backends/process/supervisor/pool/pool.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "backends/process/sandbox/interpreter_files.h"
#include "backends/process/sandbox/sandbox.h"
#include "backends/process/supervisor/pool/interpreter_trial.h"
#include "base/cleanup.h"
#include "protocol/run_event.h"

#define RETRY_US       (UINT64_C(1) * 1000000)
#define FAILURES_LIMIT 3
#define PERIODS        4 /* of demand in the time after which an unused shelf is emptied */

bool pool_open(struct pool *ret)
{
    ret->epoll = epoll_create1(EPOLL_CLOEXEC);
    return ret->epoll >= 0;
}

static bool is_used(const struct shelf *shelf)
{
    return shelf->template.workspace != NULL;
}

/* The oldest, NULL where there is none. */
static struct sandbox_handle *take_first(struct shelf *shelf)
{
    struct sandbox_handle *process = shelf->first;
    if (!process)
        return NULL;
    shelf->first = TAKE_POINTER(process->next);
    shelf->count--;
    return process;
}

static void unwatch(const struct pool *pool, const struct sandbox_handle *process)
{
    (void)epoll_ctl(pool->epoll, EPOLL_CTL_DEL, process->report, NULL);
}

/* A ready one of the shelf; NULL where there is none, or the next one has failed. */
static struct sandbox_handle *take_ready(struct pool *pool, struct shelf *shelf)
{
    if (!shelf->first || sandbox_handle_stirs(shelf->first))
        return NULL;
    struct sandbox_handle *process = take_first(shelf);
    if (process)
        unwatch(pool, process);
    shelf->failures = 0;
    return process;
}

static void end_parent(const struct pool *pool, struct interpreter_parent *parent)
{
    if (parent)
        (void)epoll_ctl(pool->epoll, EPOLL_CTL_DEL, parent->socket, NULL);
    interpreter_parent_end(parent);
}

/* NULL: what can be copied may be. */
static void do_without_copying(struct shelf *shelf, const struct preparation_outcome *why)
{
    shelf->without_copying = why != NULL;
    if (why)
        shelf->outcome = *why;
}

static void do_without_interpreter(struct shelf *shelf, enum preparation_kind why)
{
    shelf->without_interpreter = true;
    shelf->outcome = (struct preparation_outcome){.kind = why};
}

/* The next attempt is later the oftener it went wrong; in the end the interpreter is left out. */
static void note_failure(struct shelf *shelf, uint64_t now)
{
    shelf->not_before_us = now + (RETRY_US << shelf->failures);
    if (shelf->failures < FAILURES_LIMIT)
        shelf->failures++;
    else if (shelf->template.interpreter.kind != RUN_INTERPRETER_NONE)
        do_without_interpreter(shelf, PREPARATION_FAILED);
}

/* What has become of the shelf's interpreter. */
static void look_at_parent(const struct pool *pool, struct shelf *shelf, uint64_t now)
{
    if (shelf->successor) {
        interpreter_parent_look(shelf->successor, now);
        if (shelf->successor->state != PARENT_STARTING) {
            end_parent(pool, shelf->parent);
            shelf->parent = TAKE_POINTER(shelf->successor);
        }
    }
    if (!shelf->parent)
        return;
    interpreter_parent_look(shelf->parent, now);
    if (shelf->parent->state == PARENT_IMPOSSIBLE)
        do_without_copying(shelf, &shelf->parent->outcome);
    else if (shelf->parent->state == PARENT_GONE)
        note_failure(shelf, now);
    else
        return;
    end_parent(pool, TAKE_POINTER(shelf->parent));
}

static bool can_be_copied(const struct shelf *shelf)
{
    return shelf->parent && shelf->parent->state == PARENT_WAITING;
}

struct sandbox_handle *pool_obtain(struct pool *pool, struct run_environment *environment,
                                   const struct sandbox_template *template, uint64_t now,
                                   uint32_t *ret_origin, struct launch_failure *reterr)
{
    const struct sandbox_template without = sandbox_template_without_interpreter(template);
    struct shelf *shelf = pool_find(pool, template);
    if (shelf)
        shelf_size_note(&shelf->size, shelf->count);
    struct sandbox_handle *process = shelf ? take_ready(pool, shelf) : NULL;
    *ret_origin = SANDBOX_READY;
    if (!process && shelf && can_be_copied(shelf)) {
        *ret_origin = SANDBOX_COPIED;
        process = sandbox_handle_make(environment, template, shelf->parent, true, reterr);
        if (!process)
            look_at_parent(pool, shelf, now);
    }
    if (process)
        return process;
    *ret_origin = SANDBOX_NEW;
    sandbox_stock_want(&environment->stock, now);
    return sandbox_handle_make(environment, &without, NULL, true, reterr);
}

static void discard(const struct pool *pool, struct sandbox_handle *process, struct reaper *reaper,
                    struct run_environment *environment)
{
    unwatch(pool, process);
    sandbox_handle_signal(process, SIGKILL);
    reaper_add(reaper, environment, process);
}

static void empty_shelf(struct pool *pool, struct shelf *shelf, struct reaper *reaper,
                        struct run_environment *environment)
{
    struct sandbox_handle *process;
    while ((process = take_first(shelf)))
        discard(pool, process, reaper, environment);
    if (shelf->trial)
        discard(pool, TAKE_POINTER(shelf->trial), reaper, environment);
    end_parent(pool, shelf->parent);
    end_parent(pool, shelf->successor);
    sandbox_template_clear(&shelf->template);
    *shelf = (struct shelf){.count = 0};
}

/* Who owns an interpreter may change the file that it executes, which is the host's in a copy. */
static bool program_may_own_interpreter(const struct run_environment *environment,
                                        const struct sandbox_template *template)
{
    return geteuid() == 0 && !host_ids_have(&environment->host_ids, template->outer_uid_base,
                                            template->outer_uid_count);
}

/* An interpreter that did not wait would run what lies there under the program's name, outside of
 * any sandbox. */
static bool host_has_home(void)
{
    return access(SANDBOX_HOME, F_OK) == 0 || errno != ENOENT;
}

/* What can be said of a shelf without an attempt. */
static void judge_template(struct shelf *shelf, const struct run_environment *environment)
{
    struct preparation_outcome why = {.kind = PREPARATION_OPEN};
    if (!shelf->template.interpreter.fork)
        why.kind = PREPARATION_BY_POLICY;
    else if (host_has_home())
        preparation_set(&why, PREPARATION_HOME_ON_HOST, SANDBOX_HOME);
    else if (program_may_own_interpreter(environment, &shelf->template))
        why.kind = PREPARATION_OWNED_BY_PROGRAM;
    do_without_copying(shelf, why.kind == PREPARATION_OPEN ? NULL : &why);
    if (!interpreter_files(shelf->template.interpreter.kind))
        do_without_interpreter(shelf, PREPARATION_NO_FILES);
}

static bool wants_parent(const struct shelf *shelf)
{
    return !shelf->without_copying && !shelf->without_interpreter;
}

/* NULL: all are in use, or there is no memory for its template. */
static struct shelf *new_shelf(struct pool *pool, const struct run_environment *environment,
                               const struct sandbox_template *template)
{
    for (size_t i = 0; i < POOL_SHELVES; i++) {
        struct shelf *shelf = &pool->shelves[i];
        if (is_used(shelf))
            continue;
        if (!sandbox_template_copy(template, &shelf->template))
            return NULL;
        judge_template(shelf, environment);
        shelf->untried = wants_parent(shelf) && template->interpreter.named_modules &&
                         template->interpreter.named_modules[0];
        return shelf;
    }
    return NULL;
}

void pool_demand(struct pool *pool, const struct run_environment *environment,
                 const struct sandbox_template *template, const struct run_description *description,
                 uint64_t now)
{
    struct shelf *shelf = pool_find(pool, template);
    /* What a workspace's path leads to may become another directory. */
    if (!shelf && description->pool_size > 0 && template->workspace[0] == '\0')
        shelf = new_shelf(pool, environment, template);
    if (!shelf)
        return;
    shelf->limits = description->limits;
    shelf->idle_us = description->pool_idle_ms * 1000;
    shelf_size_set(&shelf->size, description->pool_size, description->pool_most,
                   shelf->idle_us / PERIODS, now);
    pool->memory_limit = description->pool_memory;
    shelf->used_us = now;
}

/* Is there something to do for it? */
static bool is_short(const struct shelf *shelf, bool busy, uint64_t now)
{
    uint32_t wanted = busy ? (shelf->size.wanted + 1) / 2 : shelf->size.wanted;
    if (!is_used(shelf) || now < shelf->not_before_us || shelf->size.wanted == 0)
        return false;
    if (shelf->untried)
        return !shelf->trial;
    if (wants_parent(shelf)) {
        if (!shelf->parent)
            return true;
        if (!shelf->successor &&
            interpreter_parent_is_old(shelf->parent, &shelf->template.interpreter, now))
            return true;
        return can_be_copied(shelf) && shelf->count < wanted;
    }
    return shelf->count < wanted;
}

uint32_t pool_kind(const struct shelf *shelf)
{
    return shelf->without_interpreter ? RUN_INTERPRETER_NONE : shelf->template.interpreter.kind;
}

/* What one of the shelf's holds: as it is counted, and at least what is usual, which the newest
 * have not come to yet. */
static uint64_t memory_of_one(const struct shelf *shelf)
{
    static const uint64_t usual[RUN_INTERPRETER_COUNT] = {
        [RUN_INTERPRETER_NONE] = UINT64_C(1) << 20,
        [RUN_INTERPRETER_PYTHON] = UINT64_C(8) << 20,
        [RUN_INTERPRETER_NODE] = UINT64_C(48) << 20,
    };
    uint32_t kind = pool_kind(shelf);
    uint64_t counted = shelf->first ? cgroup_memory(&shelf->first->cgroup) : 0;
    return counted > usual[kind] ? counted : usual[kind];
}

/* Of each kind there may be one, whatever it holds. */
static bool has_memory_for(const struct pool *pool, const struct shelf *shelf)
{
    uint64_t held = shelf->memory_bytes;
    for (size_t i = 0; i < POOL_SHELVES; i++)
        held += pool->shelves[i].count * pool->shelves[i].memory_bytes;
    return shelf->count == 0 || pool->memory_limit == 0 || held <= pool->memory_limit;
}

static struct shelf *short_shelf(struct pool *pool, bool busy, uint64_t now)
{
    uint32_t ready = 0;
    struct shelf *found = NULL;
    for (size_t i = 0; i < POOL_SHELVES; i++) {
        struct shelf *shelf = &pool->shelves[i];
        ready += shelf->count;
        if (is_short(shelf, busy, now) && has_memory_for(pool, shelf))
            found = shelf;
    }
    return ready < RUN_POOL_LIMIT ? found : NULL;
}

bool pool_is_short(struct pool *pool, bool busy, uint64_t now)
{
    return short_shelf(pool, busy, now) != NULL;
}

static void watch(const struct pool *pool, int fd)
{
    /* Unwatched, it is still looked at before it is used. */
    struct epoll_event event = {.events = EPOLLIN};
    (void)epoll_ctl(pool->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void start_parent(const struct pool *pool, struct shelf *shelf,
                         const struct run_environment *environment, uint64_t now)
{
    struct interpreter_parent *parent = interpreter_parent_start(
        &shelf->template, &environment->filters, &environment->namespaces, now);
    if (!parent) {
        note_failure(shelf, now);
        return;
    }
    watch(pool, parent->socket);
    if (shelf->parent)
        shelf->successor = parent;
    else
        shelf->parent = parent;
}

static void put_last(struct shelf *shelf, struct sandbox_handle *process)
{
    struct sandbox_handle **place = &shelf->first;
    while (*place)
        place = &(*place)->next;
    *place = process;
    shelf->count++;
}

/* As the shelf's sandboxes are made. */
static struct sandbox_handle *make_sandbox(struct shelf *shelf, struct run_environment *environment)
{
    struct launch_failure failure;
    const struct sandbox_template without = sandbox_template_without_interpreter(&shelf->template);
    const struct sandbox_template started = sandbox_template_without_copying(&shelf->template);
    if (wants_parent(shelf))
        return sandbox_handle_make(environment, &shelf->template, shelf->parent, false, &failure);
    return sandbox_handle_make(environment, shelf->without_interpreter ? &without : &started, NULL,
                               false, &failure);
}

static void start_trial(const struct pool *pool, struct shelf *shelf,
                        struct run_environment *environment, uint64_t now)
{
    shelf->trial = interpreter_trial_start(&shelf->template, &shelf->limits, environment);
    shelf->trial_until_us = now + INTERPRETER_TRIAL_US;
    if (shelf->trial)
        watch(pool, shelf->trial->report);
    else
        note_failure(shelf, now);
}

/* A trial that ends without a word, or says nothing in its time, has shown no good. */
static void look_at_trial(const struct pool *pool, struct shelf *shelf, struct reaper *reaper,
                          struct run_environment *environment, uint64_t now)
{
    if (!shelf->trial || (!sandbox_handle_stirs(shelf->trial) && now < shelf->trial_until_us))
        return;
    struct preparation_outcome why;
    shelf->untried = false;
    do_without_copying(shelf, interpreter_trial_was_good(shelf->trial, &why) ? NULL : &why);
    discard(pool, TAKE_POINTER(shelf->trial), reaper, environment);
}

void pool_fill(struct pool *pool, struct run_environment *environment, bool busy, uint64_t now)
{
    struct shelf *shelf = short_shelf(pool, busy, now);
    if (!shelf)
        return;
    if (!sandbox_stock_is_in_own_network(&environment->stock)) {
        note_failure(shelf, now);
        return;
    }
    if (shelf->untried) {
        start_trial(pool, shelf, environment, now);
        return;
    }
    if (wants_parent(shelf) &&
        (!shelf->parent ||
         (!shelf->successor &&
          interpreter_parent_is_old(shelf->parent, &shelf->template.interpreter, now)))) {
        start_parent(pool, shelf, environment, now);
        return;
    }
    struct sandbox_handle *process = make_sandbox(shelf, environment);
    if (!process) {
        note_failure(shelf, now);
        look_at_parent(pool, shelf, now);
        return;
    }
    sandbox_handle_limit(process, &shelf->limits);
    watch(pool, process->report);
    put_last(shelf, process);
    shelf->memory_bytes = memory_of_one(shelf);
}

static void throw_away_what_stirs(const struct pool *pool, struct shelf *shelf,
                                  struct reaper *reaper, struct run_environment *environment,
                                  uint64_t now)
{
    for (uint32_t left = shelf->count; left > 0; left--) {
        struct sandbox_handle *process = take_first(shelf);
        if (!process)
            return;
        if (!sandbox_handle_stirs(process)) {
            put_last(shelf, process);
            continue;
        }
        discard(pool, process, reaper, environment);
        note_failure(shelf, now);
    }
}

void pool_handle(struct pool *pool, struct reaper *reaper, struct run_environment *environment,
                 uint64_t now)
{
    for (size_t i = 0; i < POOL_SHELVES; i++) {
        throw_away_what_stirs(pool, &pool->shelves[i], reaper, environment, now);
        look_at_trial(pool, &pool->shelves[i], reaper, environment, now);
        look_at_parent(pool, &pool->shelves[i], now);
    }
}

static uint64_t earlier(uint64_t one, uint64_t other)
{
    return other != 0 && other < one ? other : one;
}

/* When a shelf must be looked at again at the latest. */
static uint64_t next_of_shelf(const struct shelf *shelf, uint64_t now)
{
    uint64_t next = earlier(shelf->used_us + shelf->idle_us, shelf->size.period_end_us);
    if (shelf->not_before_us > now) /* what a failure has put off */
        next = earlier(next, shelf->not_before_us);
    if (shelf->trial)
        next = earlier(next, shelf->trial_until_us);
    if (shelf->parent)
        next = earlier(next, interpreter_parent_deadline(shelf->parent));
    if (shelf->successor)
        return earlier(next, interpreter_parent_deadline(shelf->successor));
    if (shelf->parent && shelf->not_before_us <= now)
        next =
            earlier(next, interpreter_parent_renewal(shelf->parent, &shelf->template.interpreter));
    return next;
}

/* Takes away what nobody has needed for a while. */
static void trim(const struct pool *pool, struct shelf *shelf, struct reaper *reaper,
                 struct run_environment *environment, uint64_t now)
{
    shelf_size_pass(&shelf->size, shelf->count, now);
    while (shelf->count > shelf->size.wanted) {
        struct sandbox_handle *process = take_first(shelf);
        if (process)
            discard(pool, process, reaper, environment);
    }
}

uint64_t pool_expire(struct pool *pool, struct reaper *reaper, struct run_environment *environment,
                     uint64_t now)
{
    uint64_t next = 0;
    for (size_t i = 0; i < POOL_SHELVES; i++) {
        struct shelf *shelf = &pool->shelves[i];
        if (!is_used(shelf))
            continue;
        if (shelf->used_us + shelf->idle_us <= now) {
            empty_shelf(pool, shelf, reaper, environment);
            continue;
        }
        if (next_of_shelf(shelf, now) <= now) {
            look_at_trial(pool, shelf, reaper, environment, now);
            look_at_parent(pool, shelf, now);
            trim(pool, shelf, reaper, environment, now);
        }
        uint64_t until = next_of_shelf(shelf, now);
        next = next == 0 ? until : earlier(next, until);
    }
    return next;
}

void pool_empty(struct pool *pool, struct reaper *reaper, struct run_environment *environment)
{
    for (size_t i = 0; i < POOL_SHELVES; i++)
        if (is_used(&pool->shelves[i]))
            empty_shelf(pool, &pool->shelves[i], reaper, environment);
}
