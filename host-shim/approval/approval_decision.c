/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions and their words. Any thread. */
#include "approval/approval_decision.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"

#define DEFAULT_WAIT_MS 120000
#define LONGEST_WAIT_MS 3600000

static const char *const words[APPROVAL_WORD_COUNT] = {
    [APPROVAL_WORD_DENY] = "deny",
    [APPROVAL_WORD_ALLOW_ONCE] = "allow_once",
    [APPROVAL_WORD_ALLOW_SESSION] = "allow_session",
    [APPROVAL_WORD_ALLOW_ALWAYS] = "allow_always",
    [APPROVAL_WORD_ALLOW_CELLS] = "allow_cells",
    [APPROVAL_WORD_ALLOW_RUN] = "allow_run",
    [APPROVAL_WORD_EDIT] = "edit",
    [APPROVAL_WORD_CANCEL] = "cancel",
    [APPROVAL_WORD_UNAVAILABLE] = "unavailable",
};

const char *approval_word_name(enum approval_word word)
{
    return word < APPROVAL_WORD_COUNT ? words[word] : words[APPROVAL_WORD_DENY];
}

bool approval_word_find(const char *name, enum approval_word *ret)
{
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcmp(words[i], name) != 0)
            continue;
        *ret = (enum approval_word)i;
        return true;
    }
    return false;
}

bool approval_word_allows(enum approval_word word)
{
    return word == APPROVAL_WORD_ALLOW_ONCE || word == APPROVAL_WORD_ALLOW_SESSION ||
           word == APPROVAL_WORD_ALLOW_ALWAYS || word == APPROVAL_WORD_ALLOW_CELLS ||
           word == APPROVAL_WORD_ALLOW_RUN || word == APPROVAL_WORD_EDIT;
}

bool approval_offers(const json_t *request, enum approval_word word)
{
    if (word == APPROVAL_WORD_UNAVAILABLE)
        return false; /* it is no choice */
    const json_t *offered = json_object_get(request, "allowed_decisions");
    if (!json_is_array(offered))
        return word == APPROVAL_WORD_ALLOW_ONCE || word == APPROVAL_WORD_DENY;
    return json_list_has(offered, approval_word_name(word));
}

bool approval_is_of_call(const json_t *request)
{
    return strcmp(json_member_string(request, "kind", ""), "tool_call") == 0;
}

void approval_allow(struct approval_decision *decision, enum approval_word word, const char *reason)
{
    decision->word = word;
    (void)snprintf(decision->reason, sizeof(decision->reason), "%s", reason);
}

void approval_deny(struct approval_decision *decision, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    decision->word = APPROVAL_WORD_DENY;
    (void)vsnprintf(decision->reason, sizeof(decision->reason), format, arguments);
    va_end(arguments);
}

void approval_unavailable(struct approval_decision *decision, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    decision->word = APPROVAL_WORD_UNAVAILABLE;
    decision->approver[0] = '\0';
    (void)vsnprintf(decision->reason, sizeof(decision->reason), format, arguments);
    va_end(arguments);
}

void approval_clear(struct approval_decision *decision)
{
    json_decref(TAKE_POINTER(decision->arguments));
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

void approval_name_user(const char *prefix, char *ret, size_t size)
{
    char memory[4096];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(getuid(), &entry, memory, sizeof(memory), &found) == 0 && found)
        (void)snprintf(ret, size, "%s:%s", prefix, found->pw_name);
    else
        (void)snprintf(ret, size, "%s:%u", prefix, (unsigned)getuid());
}

/* A member that the provider does not say it takes would make the decision unreadable to it. */
static bool takes_member(const json_t *request, const char *member)
{
    return json_list_has(json_object_get(request, "decision_members"), member);
}

static const char *id_to_report(const struct approval_decision *decision, const json_t *request)
{
    return decision->id[0] && takes_member(request, "approval_id") ? decision->id : NULL;
}

char *approval_pending_text(const struct approval_decision *decision, const json_t *request)
{
    if (!decision->id[0] || !takes_member(request, "pending_id"))
        return NULL;
    json_auto_t *answer = json_pack("{s:s}", "pending_id", decision->id);
    return answer ? json_compact(answer) : NULL;
}

static json_t *decision_json(const struct approval_decision *decision, const json_t *request,
                             const char *reason)
{
    const char *request_sha256 = json_member_string(request, "request_sha256", NULL);
    json_auto_t *answer = json_object();
    if (!json_member_add(answer, "decision", approval_word_name(decision->word)) ||
        !json_member_add(answer, "approver", decision->approver[0] ? decision->approver : NULL) ||
        !json_member_add(answer, "reason", reason) ||
        !json_member_add(answer, "request_sha256", request_sha256) ||
        !json_member_add(answer, "approval_id", id_to_report(decision, request)) ||
        (decision->arguments && json_object_set(answer, "arguments", decision->arguments) != 0))
        return NULL;
    return TAKE_POINTER(answer);
}

/* A reason that was cut off inside a character is no text for JSON; the decision counts without. */
char *approval_decision_text(const struct approval_decision *decision, const json_t *request)
{
    const char *reason = decision->reason[0] ? decision->reason : NULL;
    json_auto_t *answer = decision_json(decision, request, reason);
    if (!answer)
        answer = decision_json(decision, request, NULL);
    return answer ? json_compact(answer) : NULL;
}
