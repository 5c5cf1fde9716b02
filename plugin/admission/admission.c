/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway's one queue, and waiting in it. Runs in the gateway, on the thread inside
 * tool_invoke(), and on any thread that cancels. The mutex is held for a few instructions only,
 * never during a callback.
 */
#include "admission/admission.h"

#include <stddef.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/lock.h"

/* An average of which a new value is that part: the last ten or so count. */
#define AVERAGE_SHARE 0.125

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct run_queue queue;
static uint64_t since_ms_sum; /* of all that have a slot */
static double average_held_ms;
static bool average_is_known;

static struct admission *admission_of(struct run_queue_entry *entry)
{
    return (struct admission *)((char *)entry - offsetof(struct admission, entry));
}

/* The functions below are called with the lock held. */

static void begin(struct admission *admission)
{
    admission->state = ADMISSION_IN;
    admission->since_ms = monotonic_ms();
    since_ms_sum += admission->since_ms;
}

static void wake(struct admission *admission)
{
    (void)pthread_cond_signal(&admission->changed);
}

/* Gives free slots to the next calls in turn. */
static void hand_out(void)
{
    for (struct run_queue_entry *entry = run_queue_next(&queue); entry;
         entry = run_queue_next(&queue)) {
        begin(admission_of(entry));
        wake(admission_of(entry));
    }
}

static void displace(struct run_queue_entry *entry)
{
    if (!entry)
        return;
    admission_of(entry)->state = ADMISSION_DISPLACED;
    wake(admission_of(entry));
}

static double expected_held_ms(void)
{
    double age_ms = queue.running > 0
                        ? (double)monotonic_ms() - (double)since_ms_sum / (double)queue.running
                        : 0;
    return average_is_known && average_held_ms > age_ms ? average_held_ms : age_ms;
}

static void note_held(uint64_t held_ms)
{
    if (!average_is_known)
        average_held_ms = (double)held_ms;
    average_held_ms += ((double)held_ms - average_held_ms) * AVERAGE_SHARE;
    average_is_known = true;
}

uint64_t admission_retry_after_ms(double held_ms, uint64_t queued, uint64_t places)
{
    double left_ms = held_ms * (double)(queued + 1) / (double)places;
    if (left_ms >= ADMISSION_RETRY_MAXIMUM_MS)
        return ADMISSION_RETRY_MAXIMUM_MS;
    return left_ms > ADMISSION_RETRY_MINIMUM_MS ? (uint64_t)left_ms : ADMISSION_RETRY_MINIMUM_MS;
}

/* How many calls like this one may run at the same time. */
static uint64_t places_for(const struct run_queue_entry *entry)
{
    if (entry->memory_total_bytes == 0 || entry->memory_bytes == 0)
        return entry->max_runs;
    uint64_t shares = entry->memory_total_bytes / entry->memory_bytes;
    if (shares == 0)
        return 1;
    return shares < entry->max_runs ? shares : entry->max_runs;
}

/* The message is set already. */
static bool refuse_for_now(const struct admission *admission, struct error *error)
{
    error->retry_after_ms =
        admission_retry_after_ms(expected_held_ms(), queue.queued, places_for(&admission->entry));
    return false;
}

static bool refuse_full(const struct admission *admission, struct error *error)
{
    error_set(error, ERROR_TOO_MANY_REQUESTS,
              "%llu runs with %llu MiB of memory are under way and %llu calls wait: the policy "
              "allows no more",
              (unsigned long long)queue.running, (unsigned long long)queue.memory_bytes >> 20,
              (unsigned long long)queue.queued);
    return refuse_for_now(admission, error);
}

static bool refuse_displaced(const struct admission *admission, struct error *error)
{
    error_set(error, ERROR_TOO_MANY_REQUESTS,
              "the queue is full, mostly with this caller's calls: another caller's call took this "
              "one's place");
    return refuse_for_now(admission, error);
}

static bool refuse_late(const struct admission *admission, uint64_t patience_ms,
                        struct error *error)
{
    error_set(error, ERROR_TOO_MANY_REQUESTS,
              "%llu runs with %llu MiB of memory are under way, and this call's turn did not come "
              "within %llu ms",
              (unsigned long long)queue.running, (unsigned long long)queue.memory_bytes >> 20,
              (unsigned long long)patience_ms);
    return refuse_for_now(admission, error);
}

/* Releases the lock while it waits. It returns when the state has changed, the time is over, or the
 * call is cancelled. */
static void await_turn(struct admission *admission, uint64_t deadline_ms)
{
    const struct timespec deadline = {
        .tv_sec = (time_t)(deadline_ms / 1000),
        .tv_nsec = (long)(deadline_ms % 1000) * 1000000,
    };
    while (admission->state == ADMISSION_WAITS && !atomic_load(admission->cancelled) &&
           monotonic_ms() < deadline_ms)
        (void)pthread_cond_clockwait(&admission->changed, &queue_mutex, CLOCK_MONOTONIC, &deadline);
}

static bool wait_in_queue(struct admission *admission, uint64_t patience_ms, struct error *error)
{
    uint64_t begun_ms = monotonic_ms();
    await_turn(admission, begun_ms + patience_ms);
    (void)pthread_cond_destroy(&admission->changed);
    admission->waited_ms += monotonic_ms() - begun_ms;

    enum admission_state state = admission->state;
    if (state == ADMISSION_IN && !atomic_load(admission->cancelled))
        return true;
    if (state == ADMISSION_WAITS)
        run_queue_remove(&queue, &admission->entry);
    if (state != ADMISSION_IN) /* admission_leave() gives the slot back */
        admission->state = ADMISSION_OUTSIDE;
    hand_out(); /* this one may have been in the way of a policy that allows more */
    if (atomic_load(admission->cancelled)) {
        error_set(error, ERROR_CANCELLED, "cancelled while waiting for its turn");
        return false;
    }
    return state == ADMISSION_DISPLACED ? refuse_displaced(admission, error)
                                        : refuse_late(admission, patience_ms, error);
}

bool admission_enter(struct admission *admission, const struct admission_terms *terms,
                     struct error *error)
{
    HOLD_LOCK(queue_mutex);
    struct run_queue_entry *displaced = NULL;
    admission->entry = (struct run_queue_entry){.principal = terms->principal,
                                                .max_runs = terms->max_runs,
                                                .memory_bytes = terms->memory_bytes,
                                                .memory_total_bytes = terms->memory_total_bytes};
    admission->cancelled = terms->cancelled;
    switch (run_queue_enter(&queue, &admission->entry, terms->max_queued, &displaced)) {
    case RUN_QUEUE_RUNS:
        begin(admission);
        return true;
    case RUN_QUEUE_FULL:
        return refuse_full(admission, error);
    case RUN_QUEUE_WAITS:
        break;
    }
    (void)pthread_cond_init(&admission->changed, NULL); /* cannot fail on Linux */
    admission->state = ADMISSION_WAITS;
    displace(displaced);
    hand_out();
    return wait_in_queue(admission, terms->patience_ms, error);
}

void admission_leave(struct admission *admission)
{
    HOLD_LOCK(queue_mutex);
    if (admission->state != ADMISSION_IN)
        return;
    admission->state = ADMISSION_OUTSIDE;
    since_ms_sum -= admission->since_ms;
    note_held(monotonic_ms() - admission->since_ms);
    run_queue_leave(&queue, &admission->entry);
    hand_out();
}

static void wake_if_cancelled(struct run_queue_entry *entry)
{
    if (atomic_load(admission_of(entry)->cancelled))
        wake(admission_of(entry));
}

uint64_t admission_keep_memory(struct admission *admission)
{
    HOLD_LOCK(queue_mutex);
    uint64_t bytes = admission->entry.memory_bytes;
    admission->entry.memory_bytes = 0;
    return bytes;
}

void admission_release_memory(uint64_t bytes)
{
    HOLD_LOCK(queue_mutex);
    queue.memory_bytes -= bytes;
    hand_out();
}

void admission_wake_cancelled(void)
{
    HOLD_LOCK(queue_mutex);
    run_queue_visit(&queue, wake_if_cancelled);
}

struct admission_counts admission_count(void)
{
    HOLD_LOCK(queue_mutex);
    return (struct admission_counts){queue.running, queue.queued};
}

void admission_after_fork(void)
{
    queue_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    queue = (struct run_queue){0};
    since_ms_sum = 0;
}
