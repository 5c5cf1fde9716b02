/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conformance: the answers to a request for approval, and when they come. Main thread of a case's
 * process, and the thread that answers later.
 */
#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/json.h"
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
static enum case_result case_reply(struct conformance *conformance, unsigned reply)
{
    struct probe_host *probe = conformance->probe;
    probe->reply = replies[reply];
    probe->verdict[GRANT_APPROVAL] = TOOL_VERDICT_LATER;
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    probe_host_invoke_good(conformance, probe, &probe->host, &outcome);
    enum case_result result =
        reply == REPLY_ALLOW
            ? probe_host_expect_ran(conformance, &outcome, "allowed from inside")
            : probe_host_expect_nothing_ran(conformance, probe, &outcome, "denied from inside");
    if (result != CASE_PASSED)
        return result;
    if (reply == REPLY_JUNK && probe->reply_codes[0] != TOOL_INVALID)
        return case_fail(conformance, "an unreadable decision did not return TOOL_INVALID");
    if (probe->reply_codes[1] != TOOL_UNKNOWN)
        return case_fail(conformance, "a second answer to a token did not return TOOL_UNKNOWN");
    return CASE_PASSED;
}

struct late_approver {
    struct probe_host *probe;
    int32_t code; /* of the reply */
};

/* From another thread, once the callback has returned. */
static void *answer_late(void *argument)
{
    struct late_approver *approver = argument;
    uint64_t deadline = monotonic_ms() + ANSWERED_WITHIN_MS;
    uint64_t token = 0;
    while ((token = atomic_load(&approver->probe->token)) == 0 && monotonic_ms() < deadline)
        (void)usleep(5000);
    (void)usleep(50000);
    approver->code = approver->probe->provider->reply_approval(token, replies[REPLY_ALLOW]);
    return NULL;
}

static enum case_result case_later(struct conformance *conformance, unsigned argument)
{
    (void)argument;
    struct probe_host *probe = conformance->probe;
    probe->verdict[GRANT_APPROVAL] = TOOL_VERDICT_LATER;
    struct late_approver approver = {.probe = probe, .code = TOOL_UNKNOWN};
    pthread_t thread;
    if (pthread_create(&thread, NULL, answer_late, &approver) != 0)
        return case_fail(conformance, "cannot start a thread");
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    probe_host_invoke_good(conformance, probe, &probe->host, &outcome);
    (void)pthread_join(thread, NULL);
    if (approver.code != TOOL_ACCEPTED)
        return case_fail(conformance, "a later answer did not return TOOL_ACCEPTED");
    return probe_host_expect_ran(conformance, &outcome, "allowed from another thread, later");
}

static enum case_result expect_pending(struct conformance *conformance, struct probe_host *probe)
{
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    probe_host_invoke_good(conformance, probe, &probe->host, &outcome);
    enum case_result result =
        probe_host_expect_nothing_ran(conformance, probe, &outcome, "pending");
    const char *status = json_member_string(outcome.result, "status", "none");
    if (result == CASE_PASSED && strcmp(status, "pending") != 0)
        return case_fail(conformance, "status is %.40s, not pending", status);
    return result;
}

/* Pending, answered afterwards, and used by an identical call, once. */
static enum case_result case_pending(struct conformance *conformance, unsigned argument)
{
    (void)argument;
    struct probe_host *probe = conformance->probe;
    probe->verdict[GRANT_APPROVAL] = TOOL_VERDICT_PENDING;
    enum case_result result = expect_pending(conformance, probe);
    if (result != CASE_PASSED)
        return result;
    if (probe->provider->reply_approval(probe->token, replies[REPLY_ALLOW]) != TOOL_ACCEPTED)
        return case_fail(conformance,
                         "the answer to a pending request did not return TOOL_ACCEPTED");
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    probe_host_invoke_good(conformance, probe, &probe->host, &outcome);
    result = probe_host_expect_ran(conformance, &outcome, "an identical call after the answer");
    if (result != CASE_PASSED)
        return result;
    if (probe->asked[GRANT_APPROVAL] != 1)
        return case_fail(conformance,
                         "an identical call asked for approval again after the answer");
    probe->output_length = 0;
    return expect_pending(conformance, probe); /* the answer was for one call */
}

static enum case_result case_cancel_asked(struct conformance *conformance, unsigned argument)
{
    (void)argument;
    struct probe_host *probe = conformance->probe;
    probe->cancels = true;
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    probe_host_invoke_good(conformance, probe, &probe->host, &outcome);
    enum case_result result = probe_host_expect_nothing_ran(
        conformance, probe, &outcome, "cancelled while approval was asked for");
    const char *status = json_member_string(outcome.result, "status", "none");
    if (result == CASE_PASSED && strcmp(status, "cancelled") != 0)
        return case_fail(conformance, "status is %.40s, not cancelled", status);
    return result;
}

/* No call of that id is under way yet, so that there is nothing to cancel. */
static enum case_result case_cancel_before(struct conformance *conformance, unsigned argument)
{
    (void)argument;
    struct probe_host *probe = conformance->probe;
    if (probe->provider->cancel(probe->host.call_id) != TOOL_UNKNOWN)
        return case_fail(conformance,
                         "cancelling a call that has not begun did not return TOOL_UNKNOWN");
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    probe_host_invoke_good(conformance, probe, &probe->host, &outcome);
    return probe_host_expect_ran(conformance, &outcome, "cancelled before it began");
}

#define NEEDS (CASE_NEEDS_A_RUN | CASE_NEEDS_GRANT(GRANT_APPROVAL))

const struct conformance_row conformance_answer_rows[] = {
    {"approval-reply-allow", case_reply, REPLY_ALLOW, NEEDS},
    {"approval-reply-deny", case_reply, REPLY_DENY, NEEDS},
    {"approval-reply-other-hash", case_reply, REPLY_OTHER_HASH, NEEDS},
    {"approval-reply-junk", case_reply, REPLY_JUNK, NEEDS},
    {"approval-later", case_later, 0, NEEDS},
    {"approval-pending", case_pending, 0, NEEDS},
    {"cancel-asked", case_cancel_asked, 0, NEEDS},
    {"cancel-before", case_cancel_before, 0, CASE_NEEDS_A_RUN},
};
const size_t conformance_answer_row_count = COUNT_OF(conformance_answer_rows);
