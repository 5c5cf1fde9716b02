/* SPDX-License-Identifier: Apache-2.0 */
/* Waits in the store for an answer. On the thread inside tool_invoke(). */
#include "approval/approval.h"

#include <string.h>

#include "approval/approval_grants.h"
#include "approval/approval_store.h"
#include "base/cleanup.h"
#include "base/deadline.h"

#define LOOK_EVERY_MS 200
#define PENDING_S     86400 /* how long a pending request can be answered, and its answer used */

/* The store is the approver, and cannot be asked. */
static void report_failure(struct approval_decision *ret, const struct failure *failure)
{
    approval_unavailable(ret, "%s%s%s", failure->message, failure->hint[0] ? "; " : "",
                         failure->hint);
}

static void report_pending(const char *id, struct approval_decision *ret)
{
    ret->word = APPROVAL_WORD_PENDING;
    (void)snprintf(ret->id, sizeof(ret->id), "%s", id);
    (void)snprintf(ret->notice, sizeof(ret->notice),
                   "the request waits as %s: toolhost approvals show %s", id, id);
}

/* Polls the store until there is an answer. */
static void wait_for_answer(struct approval_store *store, const char *id, uint64_t deadline,
                            int cancelled_fd, struct approval_decision *ret)
{
    struct failure failure;
    for (;;) {
        enum approval_state state = APPROVAL_STATE_GONE;
        if (!approval_store_take_answer(store, id, &state, ret, &failure)) {
            report_failure(ret, &failure);
            return;
        }
        if (state == APPROVAL_STATE_ANSWERED)
            return;
        if (state == APPROVAL_STATE_GONE && deadline_poll_timeout(deadline) > 0) {
            approval_deny(ret, "the request was revoked");
            return;
        }
        if (!approval_wait(-1, cancelled_fd, state == APPROVAL_STATE_EXPIRED ? 0 : deadline,
                           LOOK_EVERY_MS, ret))
            return;
    }
}

/* The store counts whole seconds and cuts off the one that has begun: the request is open for as
 * long as the call waits, and up to two seconds longer. */
static int64_t open_seconds(int64_t wait_ms)
{
    return (wait_ms + 999) / 1000 + 1;
}

static void ask_and_wait(struct approval_store *store, const struct approval_question *question,
                         const struct approval_subject *subject, struct approval_decision *ret)
{
    struct failure failure;
    char id[APPROVAL_STORE_ID + 1];
    enum approval_state state = APPROVAL_STATE_GONE;
    /* A call of a program that runs never comes again: its answer is waited for. */
    bool pending =
        question->approver->mode == APPROVAL_PENDING && !approval_is_of_call(question->request);
    int wait_ms = approval_wait_ms(question->request);
    uint64_t deadline = monotonic_ms() + (uint64_t)wait_ms;
    bool stored =
        !pending || approval_store_take_identical(store, subject, id, &state, ret, &failure);
    if (stored && state != APPROVAL_STATE_ANSWERED && state != APPROVAL_STATE_OPEN)
        stored = approval_store_ask(store, subject, question->request_json, pending,
                                    pending ? PENDING_S : open_seconds(wait_ms), id, &failure);
    if (!stored) {
        report_failure(ret, &failure);
        return;
    }
    if (pending && state != APPROVAL_STATE_ANSWERED) {
        report_pending(id, ret);
        return;
    }
    (void)snprintf(ret->id, sizeof(ret->id), "%s", id);
    if (pending)
        return;
    wait_for_answer(store, id, deadline, question->cancelled_fd, ret);
    approval_store_withdraw(store, id);
}

void approval_by_queue(const struct approval_question *question, struct approval_decision *ret)
{
    struct failure failure;
    struct approval_subject subject;
    (void)snprintf(ret->approver, sizeof(ret->approver), "queue");
    if (!approval_subject_of(question->request, &subject)) {
        approval_unavailable(ret, "the provider's approval request has no hash");
        return;
    }
    CLEANUP(approval_store_close) struct approval_store *store = NULL;
    if (!approval_store_open(question->approver->store, true, &store, &failure))
        report_failure(ret, &failure);
    else
        ask_and_wait(store, question, &subject, ret);
}
