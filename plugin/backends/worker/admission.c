/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the arithmetic of a worker's room: see admission.h. */
#include "backends/worker/admission.h"

#include <inttypes.h>
#include <stdio.h>

#include "protocol/run_description.h"

#define HELD_UNKNOWN_MS UINT64_C(1000)
#define HELD_SHARE      8 /* one run counts an eighth */

/* It removes the remains of gateways that have ended, and starts no program. */
static uint64_t share_of(const struct remote_offer *offer)
{
    return offer->purpose == RUN_PURPOSE_SWEEP ? 0 : offer->memory_bytes;
}

/* When one of the runs under way is likely to have ended. */
static uint64_t retry_after_ms(const struct worker_admission *admission)
{
    uint64_t held = admission->held_ms == 0 ? HELD_UNKNOWN_MS : admission->held_ms;
    uint64_t wait = held / (admission->runs == 0 ? 1 : admission->runs);
    if (wait < WORKER_RETRY_MINIMUM_MS)
        return WORKER_RETRY_MINIMUM_MS;
    return wait > WORKER_RETRY_MAXIMUM_MS ? WORKER_RETRY_MAXIMUM_MS : wait;
}

static struct remote_answer refuse_memory(const struct worker_admission *admission,
                                          const struct remote_offer *offer)
{
    struct remote_answer answer = {.verdict = REMOTE_REFUSED};
    if (offer->memory_bytes == 0) {
        (void)snprintf(answer.reason, sizeof(answer.reason), "the run has no limit on its memory");
        (void)snprintf(answer.remedy, sizeof(answer.remedy),
                       "give \"memory_bytes\" of the policy's \"limits\" a value");
        return answer;
    }
    (void)snprintf(answer.reason, sizeof(answer.reason),
                   "the run may use %" PRIu64 " bytes of memory, and the worker has %" PRIu64
                   " for all of its runs",
                   offer->memory_bytes, admission->memory_total_bytes);
    (void)snprintf(answer.remedy, sizeof(answer.remedy),
                   "lower \"memory_bytes\" of the policy's \"limits\", or raise "
                   "\"memory_total_bytes\" in the worker's configuration");
    return answer;
}

struct remote_answer worker_admission_judge(struct worker_admission *admission,
                                            const struct remote_offer *offer)
{
    uint64_t share = share_of(offer);
    struct remote_answer busy = {.verdict = REMOTE_BUSY,
                                 .retry_after_ms = retry_after_ms(admission)};
    if (admission->drains)
        return (struct remote_answer){.verdict = REMOTE_DRAINING,
                                      .reason = "the worker is about to end"};
    if (offer->purpose != RUN_PURPOSE_SWEEP &&
        (share == 0 || share > admission->memory_total_bytes))
        return refuse_memory(admission, offer);
    if (admission->runs >= admission->max_runs) {
        (void)snprintf(busy.reason, sizeof(busy.reason), "%u runs are under way, which is the most",
                       admission->runs);
        return busy;
    }
    /* Their descriptors are held until the gateways have answered. */
    if (admission->leaving >= admission->max_runs + WORKER_LEAVING_MOST) {
        (void)snprintf(busy.reason, sizeof(busy.reason),
                       "gateways have not taken the ends of %u runs yet", admission->leaving);
        return busy;
    }
    if (share > admission->memory_total_bytes - admission->memory_bytes) {
        (void)snprintf(busy.reason, sizeof(busy.reason),
                       "the runs under way leave %" PRIu64 " bytes of memory",
                       admission->memory_total_bytes - admission->memory_bytes);
        return busy;
    }
    admission->runs++;
    admission->memory_bytes += share;
    return (struct remote_answer){.verdict = REMOTE_ACCEPTED};
}

void worker_admission_release(struct worker_admission *admission, const struct remote_offer *offer,
                              uint64_t held_ms)
{
    admission->runs--;
    admission->leaving++;
    /* The time that people keep a session says nothing about the next run. */
    if (offer->is_session || offer->purpose != RUN_PURPOSE_PROGRAM)
        return;
    uint64_t before = admission->held_ms == 0 ? held_ms : admission->held_ms;
    uint64_t mean = (before * (HELD_SHARE - 1) + held_ms) / HELD_SHARE;
    admission->held_ms = mean == 0 ? 1 : mean;
}

void worker_admission_forget(struct worker_admission *admission, const struct remote_offer *offer)
{
    admission->leaving--;
    admission->memory_bytes -= share_of(offer);
}

struct remote_capacity worker_admission_capacity(const struct worker_admission *admission)
{
    return (struct remote_capacity){
        .runs = admission->runs,
        .slots = admission->max_runs,
        .memory_free_bytes = admission->memory_total_bytes - admission->memory_bytes,
    };
}
