/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the approver for a request. On the thread inside tool_invoke(). */
#include "approval.h"

#include <stdarg.h>
#include <stdio.h>

#include "approval_command.h"
#include "approval_terminal.h"
#include "cleanup.h"
#include "json_member.h"

#define DEFAULT_WAIT_MS 120000
#define LONGEST_WAIT_MS 3600000

void approval_deny(struct approval_decision *decision, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    decision->allow = false;
    (void)vsnprintf(decision->reason, sizeof(decision->reason), format, arguments);
    va_end(arguments);
}

int approval_wait_ms(const json_t *request)
{
    json_int_t wait = json_member_integer(request, "expires_in_ms", 0);
    if (wait <= 0)
        wait = json_member_integer(request, "timeout_ms", 0);
    if (wait <= 0)
        return DEFAULT_WAIT_MS;
    return wait > LONGEST_WAIT_MS ? LONGEST_WAIT_MS : (int)wait;
}

static void decide_by_flag(bool allow, struct approval_decision *decision)
{
    (void)snprintf(decision->approver, sizeof(decision->approver), "flag:%s",
                   allow ? "always" : "never");
    decision->allow = allow;
    if (!allow)
        approval_deny(decision, "toolhost was started with --approve never");
}

void approval_decide(const struct approver *approver, const char *request_json, int cancelled_fd,
                     struct approval_decision *ret)
{
    *ret = (struct approval_decision){.approver = "toolhost"};
    approval_deny(ret, "not decided");
    json_error_t where;
    CLEANUP_JSON json_t *request = json_loads(request_json, JSON_REJECT_DUPLICATES, &where);
    if (!json_is_object(request)) {
        approval_deny(ret, "the provider's approval request is no JSON object");
        return;
    }
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
    }
}
