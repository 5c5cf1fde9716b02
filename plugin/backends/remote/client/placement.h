/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of a worker for a run, and the effect of its answer: pure code, without a clock, a
 * connection or random numbers of its own. Two workers are drawn, and the one with fewer runs for
 * its slots gets the offer ("power of two choices": Mitzenmacher, 1996). So gateways that know
 * nothing of each other do not all choose the same worker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/remote/link/remote_messages.h"
#include "backends/remote/messages/remote_options.h"
#include "protocol/run_event.h"

#define PLACING_LIMIT_US                                                                           \
    (UINT64_C(15) * 1000000)                        /* until a run that no worker takes has failed \
                                                     */
#define OFFER_LIMIT_US      (UINT64_C(5) * 1000000) /* for a worker to answer one */
#define CONNECTING_LIMIT_US (UINT64_C(6) * 1000000) /* that a run waits for a first connection */
#define TRIAL_WAIT_US       (UINT64_C(2) * 1000000) /* that a trial waits for the others */
#define ROOM_WAIT_US        (UINT64_C(250) * 1000)  /* for one that is busy to have room */

struct candidate {
    uint64_t id;
    uint32_t runs; /* that are under way there, or offered */
    uint32_t slots;
};

/* Of candidates, at least one; random is any number. The index. */
size_t placement_draw(const struct candidate *candidates, size_t count, uint64_t random);

/* The way of one run to a worker. Begins as zeros with begun_us. */
struct placing {
    uint64_t begun_us;
    bool is_trial;
    struct asked {
        uint64_t id;
        bool is_busy; /* it has said so */
    } asked[REMOTE_WORKERS_MOST];
    size_t asked_count;
    uint64_t room_end_us; /* until when one that was busy may be asked again; 0: none was */
    size_t busy;
    uint64_t retry_after_ms; /* the least that a busy one named; 0: none did */
    size_t silent;           /* did not answer in time, or were lost before they did */
    size_t refused;
    char reason[256]; /* of the last one that refused it */
    char remedy[384];
};

enum placing_step {
    PLACING_ASK,  /* draw one of those that were not asked */
    PLACING_WAIT, /* for a connection that is being made */
    PLACING_FAIL,
};

bool placing_has_asked(const struct placing *placing, uint64_t id);
void placing_asked(struct placing *placing, uint64_t id);
/* Takes the answer of a worker that has not accepted the run. */
void placing_declined(struct placing *placing, const struct remote_answer *answer);
void placing_unanswered(struct placing *placing);
/* A worker has room. true: it was busy when it was asked, and may be asked again. */
bool placing_has_room(struct placing *placing, uint64_t id, uint64_t now_us);
/* usable: workers that were not asked; connecting: those that may become usable soon. */
enum placing_step placing_next(struct placing *placing, size_t usable, size_t connecting,
                               uint64_t now_us);
/* When PLACING_WAIT is over at the latest. */
uint64_t placing_deadline_us(const struct placing *placing, size_t usable);
/* Fills the event with the end of a run that no worker has taken. unreachable: the reasons of those
 * that are not usable, as text; "" where there is none. workers: how many there are. */
void placing_fail(const struct placing *placing, size_t workers, const char *unreachable,
                  struct run_event *event);

/* The end of a run whose worker was lost when it had its first byte, or before that. */
void placing_lost(const struct remote_details *worker, bool begun, const char *why,
                  struct run_event *event);
