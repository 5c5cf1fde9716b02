/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the approver for a request. On the thread inside tool_invoke(). */
#include "approval/approval.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "approval/approval_grants.h"
#include "approval/approver.h"
#include "base/cleanup.h"
#include "base/deadline.h"

static bool take_suffix(const char *value, const char *prefix, const char **ret)
{
    size_t length = strlen(prefix);
    if (strncmp(value, prefix, length) != 0 || !value[length])
        return false;
    *ret = value + length;
    return true;
}

bool approval_option_parse(const char *value, struct approver *ret, struct failure *failure)
{
    static const struct {
        const char *name;
        enum approval_mode mode;
    } modes[] = {{"ask", APPROVAL_ASK},
                 {"always", APPROVAL_ALWAYS},
                 {"never", APPROVAL_NEVER},
                 {"queue", APPROVAL_QUEUE},
                 {"pending", APPROVAL_PENDING}};
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        if (strcmp(value, modes[i].name) != 0)
            continue;
        ret->mode = modes[i].mode;
        return true;
    }
    if (take_suffix(value, "cmd:", &ret->program)) {
        ret->mode = APPROVAL_COMMAND;
        return true;
    }
    if (take_suffix(value, "webhook:", &ret->url)) {
        ret->mode = APPROVAL_WEBHOOK;
        return true;
    }
    return failure_usage(failure,
                         "--approve must be ask, always, never, queue, pending, cmd:PROG or "
                         "webhook:URL, not %s",
                         value);
}

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

static void decide_by_flag(bool allow, struct approval_decision *decision)
{
    (void)snprintf(decision->approver, sizeof(decision->approver), "flag:%s",
                   allow ? "always" : "never");
    if (allow)
        approval_allow(decision, APPROVAL_WORD_ALLOW_ONCE, "");
    else
        approval_deny(decision, "toolhost was started with --approve never");
}

static void ask_approver(const struct approver *approver, const json_t *request,
                         const char *request_json, int cancelled_fd, struct approval_decision *ret)
{
    switch (approver->mode) {
    case APPROVAL_ALWAYS:
        decide_by_flag(true, ret);
        break;
    case APPROVAL_NEVER:
        decide_by_flag(false, ret);
        break;
    case APPROVAL_COMMAND:
        approval_by_command(approver->program, request, request_json, cancelled_fd, ret);
        break;
    case APPROVAL_ASK:
        approval_by_terminal(request, cancelled_fd, ret);
        break;
    case APPROVAL_QUEUE:
    case APPROVAL_PENDING:
        approval_by_queue(approver, request, request_json, cancelled_fd, ret);
        break;
    case APPROVAL_WEBHOOK:
        approval_by_webhook(approver, request, request_json, cancelled_fd, ret);
        break;
    }
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
    ask_approver(approver, request, request_json, cancelled_fd, ret);
    hold_to_offer(request, ret);
    /* toolhost approvals writes the grant itself, with the lifetime given there. */
    bool stands = approver->mode == APPROVAL_QUEUE || approver->mode == APPROVAL_PENDING;
    if (ret->word == APPROVAL_WORD_ALLOW_ALWAYS && !stands)
        approval_remember(approver, request, ret);
}
