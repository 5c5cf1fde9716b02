/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the approver for a request. On the thread inside tool_invoke(). */
#include "approval/approval.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "approval/approval_grants.h"
#include "base/cleanup.h"
#include "base/deadline.h"

bool approval_wait(int fd, int cancelled_fd, uint64_t deadline_ms, int pause_ms,
                   struct approval_decision *ret)
{
    for (;;) {
        struct pollfd events[] = {{.fd = fd, .events = POLLIN},
                                  {.fd = cancelled_fd, .events = POLLIN}};
        int left = deadline_poll_timeout(deadline_ms);
        bool is_pause = pause_ms >= 0 && pause_ms < left;
        int ready = poll(events, COUNT_OF(events), is_pause ? pause_ms : left);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0 || events[1].revents)
            approval_unavailable(ret, "the call was cancelled");
        else if (ready == 0 && !is_pause)
            approval_unavailable(ret, "nobody answered in time");
        else
            return true;
        return false;
    }
}

static void decide_by_flag(const struct approval_question *question, struct approval_decision *ret)
{
    bool allow = question->approver->mode == APPROVAL_ALWAYS;
    (void)snprintf(ret->approver, sizeof(ret->approver), "flag:%s", allow ? "always" : "never");
    if (allow)
        approval_allow(ret, APPROVAL_WORD_ALLOW_ONCE, "");
    else
        approval_deny(ret, "toolhost was started with --approve never");
}

static const struct approver_row {
    const char *option; /* a colon at its end: the target follows */
    approver_ask *ask;
} approvers[] = {
    [APPROVAL_ASK] = {"ask", approval_by_terminal},
    [APPROVAL_ALWAYS] = {"always", decide_by_flag},
    [APPROVAL_NEVER] = {"never", decide_by_flag},
    [APPROVAL_COMMAND] = {"cmd:", approval_by_command},
    [APPROVAL_QUEUE] = {"queue", approval_by_queue},
    [APPROVAL_PENDING] = {"pending", approval_by_queue},
    [APPROVAL_WEBHOOK] = {"webhook:", approval_by_webhook},
};

bool approval_option_parse(const char *value, struct approver *ret, struct failure *failure)
{
    for (size_t i = 0; i < COUNT_OF(approvers); i++) {
        const char *option = approvers[i].option;
        size_t length = strlen(option);
        bool has_target = option[length - 1] == ':';
        if (strncmp(value, option, length) != 0 || has_target != (value[length] != '\0'))
            continue;
        ret->mode = (enum approval_mode)i;
        ret->target = has_target ? value + length : NULL;
        return true;
    }
    return failure_usage(failure,
                         "--approve must be ask, always, never, queue, pending, cmd:PROG or "
                         "webhook:URL, not %s",
                         value);
}

/* Only what the provider offers counts, whoever answered. */
static void hold_to_offer(const json_t *request, struct approval_decision *decision)
{
    if (decision->word == APPROVAL_WORD_DENY || decision->word == APPROVAL_WORD_PENDING ||
        decision->word == APPROVAL_WORD_UNAVAILABLE || approval_offers(request, decision->word))
        return;
    const char *name = approval_word_name(decision->word);
    approval_clear(decision);
    approval_deny(decision, "this request does not accept the decision %s", name);
}

void approval_decide(const struct approver *approver, const char *request_json, int cancelled_fd,
                     struct approval_decision *ret)
{
    *ret = (struct approval_decision){.approver = "toolhost"};
    approval_deny(ret, "not decided");
    json_auto_t *request = json_loads(request_json, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(request)) {
        /* Grants, hashes and principals are compared as C strings: NUL has no place in a request.
         */
        approval_unavailable(ret,
                             "the provider's approval request is not a JSON object without NUL");
        return;
    }
    /* A file must not overrule the command line. */
    bool beforehand = approver->mode == APPROVAL_ALWAYS || approver->mode == APPROVAL_NEVER;
    if (!beforehand && approval_by_grant(approver, request, ret))
        return;
    const struct approval_question question = {approver, request, request_json, cancelled_fd};
    approvers[approver->mode].ask(&question, ret);
    hold_to_offer(request, ret);
    /* toolhost approvals writes the grant itself, with the lifetime given there. */
    bool stands = approver->mode == APPROVAL_QUEUE || approver->mode == APPROVAL_PENDING;
    if (ret->word == APPROVAL_WORD_ALLOW_ALWAYS && !stands)
        approval_remember(approver, request, ret);
}
