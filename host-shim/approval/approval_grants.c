/* SPDX-License-Identifier: Apache-2.0 */
/* Standing grants as an approver. On the thread inside tool_invoke(). */
#include "approval/approval_grants.h"

#include <string.h>
#include <time.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/json.h"

#define DAY_S    86400
#define LEAST_ID 16u /* bytes: a shorter one is no random name */

/* The provider's, where a person can type it and the store has room for it. */
static const char *usable_id(const char *id)
{
    bool usable = strlen(id) >= LEAST_ID && id[0] != '-' &&
                  ascii_consists_of(id, APPROVAL_STORE_ID, ASCII_ALPHANUMERIC "._-");
    return usable ? id : NULL;
}

bool approval_subject_of(const json_t *request, struct approval_subject *ret)
{
    const char *hash = json_member_string(request, "request_sha256", "");
    if (!ascii_is_hex(hash, SHA256_HEX))
        return false;
    ret->request_sha256 = hash;
    ret->principal = json_member_string(request, "principal", NULL);
    ret->id = usable_id(json_member_string(request, "approval_id", ""));
    return true;
}

static void note_failure(struct approval_decision *ret, const char *what,
                         const struct failure *failure)
{
    (void)snprintf(ret->notice, sizeof(ret->notice), "%s: %s%s%s", what, failure->message,
                   failure->hint[0] ? "; " : "", failure->hint);
}

static void allow_by(const struct approval_grant *grant, struct approval_decision *ret)
{
    char until[32] = "";
    time_t expires = grant->expires;
    struct tm utc;
    if (gmtime_r(&expires, &utc))
        (void)strftime(until, sizeof(until), "%Y-%m-%dT%H:%M:%SZ", &utc);
    (void)snprintf(ret->approver, sizeof(ret->approver), "grant:%s by %.140s", grant->id,
                   grant->approver);
    approval_allow(ret, APPROVAL_WORD_ALLOW_ALWAYS, "");
    (void)snprintf(ret->id, sizeof(ret->id), "%s", grant->id);
    (void)snprintf(ret->reason, sizeof(ret->reason), "granted until %s", until);
}

bool approval_by_grant(const struct approver *approver, const json_t *request,
                       struct approval_decision *ret)
{
    struct approval_subject subject;
    struct failure failure;
    if (!approval_offers(request, APPROVAL_WORD_ALLOW_ALWAYS) ||
        !approval_subject_of(request, &subject))
        return false;
    CLEANUP(approval_store_close) struct approval_store *store = NULL;
    struct approval_grant grant;
    bool found = false;
    if (!approval_store_open(approver->store, false, &store, &failure) ||
        (store && !approval_store_use_grant(store, &subject, &grant, &found, &failure))) {
        note_failure(ret, "standing grants cannot be read", &failure);
        return false;
    }
    if (found)
        allow_by(&grant, ret);
    return found;
}

void approval_remember(const struct approver *approver, const json_t *request,
                       struct approval_decision *decision)
{
    struct approval_subject subject;
    struct failure failure;
    char summary[APPROVAL_SUMMARY];
    approval_store_summary(request, summary);
    CLEANUP(approval_store_close) struct approval_store *store = NULL;
    (void)failure_set(&failure, "approval_store_failed", "the request has no hash");
    if (approval_subject_of(request, &subject) &&
        approval_store_open(approver->store, true, &store, &failure) &&
        approval_store_add_grant(store, &subject, decision->approver, summary,
                                 (int64_t)APPROVAL_GRANT_DAYS * DAY_S, &failure))
        return;
    decision->word = APPROVAL_WORD_ALLOW_ONCE;
    note_failure(decision, "allowed once: it cannot be remembered", &failure);
}
