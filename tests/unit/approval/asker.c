/* SPDX-License-Identifier: Apache-2.0 */
#include "asker.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 1000

static void request_approval(void *user, uint64_t token, const char *request_json,
                             uint32_t *verdict)
{
    struct asker *asker = user;
    ck_assert_str_eq(request_json, "{}");
    asker->asked++;
    asker->token = token;
    *verdict = asker->verdict;
    if (asker->answer != NULL)
        asker->reply = approval_reply(token, asker->answer);
    if (asker->forgets)
        approval_forget_all();
    if (asker->asks_again) {
        struct asker other = {.verdict = TOOL_VERDICT_DENY};
        ask(&other);
        ck_assert_uint_eq(other.asked, 1);
        ck_assert(!other.allowed);
    }
}

static char *make_request(void *user, const char *id)
{
    const struct asker *asker = user;
    (void)id;
    return asker->speechless ? NULL : strdup("{}");
}

static bool is_cancelled(void *user)
{
    const struct asker *asker = user;
    return asker->cancelled;
}

const struct approval_question question = {
    .request_sha256 = HASH,
    .principal = "alice",
    .answers = APPROVAL_ANSWERS_ALL,
    .timeout_ms = TIMEOUT_MS,
    .max_waiting = UINT64_MAX,
    .make_request = make_request,
    .cancelled = is_cancelled,
};

void ask(struct asker *asker)
{
    const struct tool_host host = {.user = asker, .request_approval = request_approval};
    struct approval_question asked = question;
    asked.user = asker;
    if (asker->timeout_ms > 0)
        asked.timeout_ms = asker->timeout_ms;
    if (asker->hash != NULL)
        asked.request_sha256 = asker->hash;
    if (asker->answers != 0)
        asked.answers = asker->answers;
    asker->allowed = approval_obtain(&host, &asked, &asker->outcome, &asker->error);
}

uint64_t leave_pending(void)
{
    struct asker asker = {.verdict = TOOL_VERDICT_PENDING};
    ask(&asker);
    ck_assert_int_eq(asker.error.code, ERROR_APPROVAL_PENDING);
    return asker.token;
}

void expect_unused_table(void)
{
    struct asker asker = {.verdict = TOOL_VERDICT_ALLOW};
    ask(&asker);
    ck_assert_uint_eq(asker.asked, 1);
    ck_assert(asker.allowed);
    ck_assert_str_eq(asker.outcome.decision, "allow_once");
    ck_assert_str_eq(asker.outcome.approver, "host");
}
