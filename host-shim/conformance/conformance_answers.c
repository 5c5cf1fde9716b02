/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conformance: the answers to a request for approval, and when they come. Main thread of a case's
 * process, and the thread that answers later.
 */
#include <pthread.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "conformance/conformance_case.h"
#include "conformance/probe_host.h"

#define ANSWERED_WITHIN_MS 10000

enum reply { REPLY_ALLOW, REPLY_DENY, REPLY_OTHER_HASH, REPLY_JUNK };

static const char *const replies[] = {
    [REPLY_ALLOW] = "{\"decision\":\"allow_once\",\"approver\":\"conformance\"}",
    [REPLY_DENY] = "{\"decision\":\"deny\",\"approver\":\"conformance\",\"reason\":\"no\"}",
    [REPLY_OTHER_HASH] = "{\"decision\":\"allow_once\",\"approver\":\"conformance\","
                         "\"request_sha256\":"
                         "\"0000000000000000000000000000000000000000000000000000000000000000\"}",
    [REPLY_JUNK] = "{\"decision\":\"perhaps\"}",
};

/* The answer from inside the callback, which then says "later": it has been given already. */
static enum case_result case_reply(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    unsigned reply = conformance->argument;
    probe->reply = replies[reply];
    probe->verdict[GRANT_APPROVAL] = TOOL_VERDICT_LATER;
    enum case_result result = reply == REPLY_ALLOW
                                  ? probe_host_good_runs(probe, "allowed from inside")
                                  : probe_host_good_is_denied(probe, "denied from inside");
    if (result != CASE_PASSED)
        return result;
    if (reply == REPLY_JUNK && probe->reply_codes[0] != TOOL_INVALID)
        return case_fail(conformance, "an unreadable decision did not return TOOL_INVALID");
    if (probe->reply_codes[1] != TOOL_UNKNOWN)
        return case_fail(conformance, "a second answer to a token did not return TOOL_UNKNOWN");
    return CASE_PASSED;
}

static int32_t allow_later(const struct conformance *conformance)
{
    uint64_t token = atomic_load(&conformance->probe->token);
    return conformance->provider.reply_approval(token, replies[REPLY_ALLOW]);
}

struct late_approver {
    const struct conformance *conformance;
    int32_t code; /* of the reply */
};

/* From another thread, once the callback has returned. */
static void *answer_late(void *argument)
{
    struct late_approver *approver = argument;
    uint64_t deadline = monotonic_ms() + ANSWERED_WITHIN_MS;
    while (atomic_load(&approver->conformance->probe->token) == 0 && monotonic_ms() < deadline)
        (void)usleep(5000);
    (void)usleep(50000);
    approver->code = allow_later(approver->conformance);
    return NULL;
}

static enum case_result case_later(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    probe->verdict[GRANT_APPROVAL] = TOOL_VERDICT_LATER;
    struct late_approver approver = {.conformance = conformance, .code = TOOL_UNKNOWN};
    pthread_t thread;
    if (pthread_create(&thread, NULL, answer_late, &approver) != 0)
        return case_fail(conformance, "cannot start a thread");
    probe_host_invoke_good(probe);
    (void)pthread_join(thread, NULL);
    if (approver.code != TOOL_ACCEPTED)
        return case_fail(conformance, "a later answer did not return TOOL_ACCEPTED");
    return probe_host_expect_ran(probe, "allowed from another thread, later");
}

static enum case_result expect_pending(struct probe_host *probe)
{
    enum case_result result = probe_host_good_is_denied(probe, "pending");
    return result == CASE_PASSED ? probe_host_expect_status(probe, "pending") : result;
}

/* Pending, answered afterwards, and used by an identical call, once. */
static enum case_result case_pending(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    probe->verdict[GRANT_APPROVAL] = TOOL_VERDICT_PENDING;
    enum case_result result = expect_pending(probe);
    if (result != CASE_PASSED)
        return result;
    if (allow_later(conformance) != TOOL_ACCEPTED)
        return case_fail(conformance,
                         "the answer to a pending request did not return TOOL_ACCEPTED");
    result = probe_host_good_runs(probe, "an identical call after the answer");
    if (result != CASE_PASSED)
        return result;
    if (probe->asked[GRANT_APPROVAL] != 1)
        return case_fail(conformance,
                         "an identical call asked for approval again after the answer");
    probe->output_length = 0;
    return expect_pending(probe); /* the answer was for one call */
}

static enum case_result case_cancel_asked(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    probe->cancels = true;
    enum case_result result =
        probe_host_good_is_denied(probe, "cancelled while approval was asked for");
    return result == CASE_PASSED ? probe_host_expect_status(probe, "cancelled") : result;
}

/* No call of that id is under way yet, so there is nothing to cancel. */
static enum case_result case_cancel_before(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    if (conformance->provider.cancel(probe->host.call_id) != TOOL_UNKNOWN)
        return case_fail(conformance,
                         "cancelling a call that has not begun did not return TOOL_UNKNOWN");
    return probe_host_good_runs(probe, "cancelled before it began");
}

#define NEEDS (CASE_NEEDS_A_RUN | CASE_NEEDS_GRANT(GRANT_APPROVAL))

const struct conformance_row conformance_answer_rows[] = {
    {"approval-reply-allow", case_reply, NEEDS, REPLY_ALLOW},
    {"approval-reply-deny", case_reply, NEEDS, REPLY_DENY},
    {"approval-reply-other-hash", case_reply, NEEDS, REPLY_OTHER_HASH},
    {"approval-reply-junk", case_reply, NEEDS, REPLY_JUNK},
    {"approval-later", case_later, NEEDS, 0},
    {"approval-pending", case_pending, NEEDS, 0},
    {"cancel-asked", case_cancel_asked, NEEDS, 0},
    {"cancel-before", case_cancel_before, CASE_NEEDS_A_RUN, 0},
    {0},
};
