/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the choice of a worker and the way of a run to it: see placement.h. */
#include "backends/remote/client/placement.h"

#include <stdio.h>
#include <string.h>

#include "backends/common/run_answer.h"
#include "base/error.h"

#define DEFAULT_RETRY_MS 1000

/* Is one fuller than the other, for its slots? */
static bool is_fuller(const struct candidate *one, const struct candidate *other)
{
    uint64_t one_slots = one->slots > 0 ? one->slots : 1;
    uint64_t other_slots = other->slots > 0 ? other->slots : 1;
    return one->runs * other_slots > other->runs * one_slots;
}

size_t placement_draw(const struct candidate *candidates, size_t count, uint64_t random)
{
    size_t first = (size_t)((random & UINT32_MAX) % count);
    if (count == 1)
        return first;
    /* Another one than the first. */
    size_t second = (first + 1 + (size_t)((random >> 32) % (count - 1))) % count;
    return is_fuller(&candidates[first], &candidates[second]) ? second : first;
}

bool placing_has_asked(const struct placing *placing, uint64_t id)
{
    for (size_t i = 0; i < placing->asked_count; i++)
        if (placing->asked[i].id == id)
            return true;
    return false;
}

void placing_asked(struct placing *placing, uint64_t id)
{
    if (placing->asked_count < REMOTE_WORKERS_MOST)
        placing->asked[placing->asked_count++] = (struct asked){.id = id};
}

void placing_declined(struct placing *placing, const struct remote_answer *answer)
{
    if (answer->verdict == REMOTE_REFUSED) {
        placing->refused++;
        (void)snprintf(placing->reason, sizeof(placing->reason), "%s", answer->reason);
        (void)snprintf(placing->remedy, sizeof(placing->remedy), "%s", answer->remedy);
        return;
    }
    placing->busy++;
    if (placing->asked_count > 0)
        placing->asked[placing->asked_count - 1].is_busy = true;
    if (answer->retry_after_ms > 0 &&
        (placing->retry_after_ms == 0 || answer->retry_after_ms < placing->retry_after_ms))
        placing->retry_after_ms = answer->retry_after_ms;
}

void placing_unanswered(struct placing *placing)
{
    placing->silent++;
}

bool placing_has_room(struct placing *placing, uint64_t id, uint64_t now_us)
{
    if (now_us >= placing->room_end_us)
        return false;
    for (size_t i = 0; i < placing->asked_count; i++) {
        if (placing->asked[i].id != id || !placing->asked[i].is_busy)
            continue;
        placing->asked_count--;
        memmove(&placing->asked[i], &placing->asked[i + 1],
                (placing->asked_count - i) * sizeof(placing->asked[0]));
        placing->busy--;
        return true;
    }
    return false;
}

uint64_t placing_deadline_us(const struct placing *placing, size_t usable)
{
    return placing->begun_us + (usable > 0 ? TRIAL_WAIT_US : CONNECTING_LIMIT_US);
}

enum placing_step placing_next(struct placing *placing, size_t usable, size_t connecting,
                               uint64_t now_us)
{
    if (placing->busy > 0 && placing->room_end_us == 0)
        placing->room_end_us = now_us + ROOM_WAIT_US;
    if (now_us >= placing->begun_us + PLACING_LIMIT_US ||
        placing->asked_count == REMOTE_WORKERS_MOST)
        return PLACING_FAIL;
    bool waits = connecting > 0 && now_us < placing_deadline_us(placing, usable);
    if (usable > 0)
        return placing->is_trial && waits ? PLACING_WAIT : PLACING_ASK;
    /* Of several workers one may have become free while the others were asked. */
    waits = waits || (placing->busy > 0 && now_us < placing->room_end_us);
    return waits ? PLACING_WAIT : PLACING_FAIL;
}

static void set_problem(struct run_event *event, enum error_code code, const char *message,
                        const char *remedy)
{
    run_event_fail(event, RUN_FAILURE_BACKEND, 0, message);
    event->type = RUN_EVENT_ENDED;
    event->problem_code = code;
    (void)snprintf(event->remedy, sizeof(event->remedy), "%s", remedy);
}

/* The time that the workers name, within the plugin's limit. */
static uint64_t retry_after_ms(const struct placing *placing)
{
    if (placing->retry_after_ms == 0)
        return DEFAULT_RETRY_MS;
    return placing->retry_after_ms < RUN_RETRY_AFTER_LIMIT ? placing->retry_after_ms
                                                           : RUN_RETRY_AFTER_LIMIT;
}

void placing_fail(const struct placing *placing, size_t workers, const char *unreachable,
                  struct run_event *event)
{
    char text[512];
    if (placing->busy > 0) {
        (void)snprintf(text, sizeof(text),
                       "too many runs: each of the %zu workers that answer is busy", placing->busy);
        set_problem(event, ERROR_TOO_MANY_REQUESTS, text, error_code_hint(ERROR_TOO_MANY_REQUESTS));
        event->retry_after_ms = retry_after_ms(placing);
    } else if (placing->refused > 0) {
        (void)snprintf(text, sizeof(text), "no worker takes the run: %s", placing->reason);
        set_problem(event, ERROR_BACKEND_UNAVAILABLE, text,
                    placing->remedy[0] != '\0' ? placing->remedy
                                               : error_code_hint(ERROR_BACKEND_UNAVAILABLE));
    } else if (workers == 0) {
        set_problem(event, ERROR_BACKEND_UNAVAILABLE, "there is no worker: none was discovered",
                    "start a code-execute-worker, or correct the policy's \"remote.discover\"");
    } else {
        (void)snprintf(text, sizeof(text), "no worker can be reached%s%s",
                       unreachable[0] != '\0' ? ": " : "",
                       unreachable[0] != '\0' ? unreachable : ", none answers in time");
        set_problem(event, ERROR_BACKEND_UNAVAILABLE, text,
                    "run: toolhost doctor, which says of each worker why it is not usable; nothing "
                    "has run");
    }
}

void placing_lost(const struct remote_details *worker, bool begun, const char *why,
                  struct run_event *event)
{
    char text[512];
    (void)snprintf(text, sizeof(text), "the worker %s was lost %s the run had begun: %s",
                   worker->attested_by, begun ? "when" : "before", why);
    if (begun)
        set_problem(event, ERROR_WORKER_LOST, text, error_code_hint(ERROR_WORKER_LOST));
    else
        set_problem(event, ERROR_BACKEND_FAILED, text, "call again: nothing of it has run");
}
