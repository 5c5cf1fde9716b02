/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking, waiting for and answering approvals. Runs in the gateway: approval_obtain() on the thread
 * inside tool_invoke(), approval_reply() on whichever thread answers. The mutex is never held
 * during a callback.
 */
#include "approval/approval.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "approval/approval_table.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "host/host.h"

static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t table_changed = PTHREAD_COND_INITIALIZER;

static void hash_name(const char *name, char ret[SHA256_HEX_LENGTH + 1])
{
    /* No name is not the same as an empty name. */
    sha256_hex(name, name ? strlen(name) + 1 : 0, ret);
}

static const char *refusal_text(enum error_code refusal)
{
    switch ((int)refusal) {
    case ERROR_APPROVAL_MISMATCH:
        return "approval mismatch";
    case ERROR_APPROVAL_REPLAYED:
        return "approval replayed";
    case ERROR_CANCELLED:
        return "cancelled by the approver";
    case ERROR_APPROVAL_UNAVAILABLE:
        return "approval is needed, and nobody could be asked";
    default:
        return "approval denied";
    }
}

/* Turns an answered entry into the call's result, and uses the entry up as far as its answer says.
 */
static bool use_answer(struct approval_entry *entry, struct approval_outcome *outcome,
                       struct error *error)
{
    *outcome = entry->outcome;
    entry->outcome.arguments = NULL;
    outcome->expires_ms = monotonic_ms() + APPROVAL_RUN_MS;
    bool allowed = approval_answer_allows(entry->answer);
    if (!allowed)
        error_set(error, entry->refusal, "%s%s%s", refusal_text(entry->refusal),
                  outcome->reason[0] != '\0' ? ": " : "", outcome->reason);
    if (entry->answer == APPROVAL_ANSWER_ALLOW_SESSION) {
        entry->state = APPROVAL_ENTRY_STANDING;
        entry->waited_for = false;
        entry->expires_ms = UINT64_MAX;
        approval_table_limit_grants();
    } else {
        approval_entry_remove(entry);
    }
    return allowed;
}

static bool report_pending(const struct approval_entry *entry, struct approval_outcome *outcome,
                           struct error *error)
{
    *outcome = entry->outcome;
    (void)snprintf(outcome->decision, sizeof(outcome->decision), "pending");
    error_set(error, ERROR_APPROVAL_PENDING, "approval pending: %s", entry->outcome.id);
    return false;
}

static bool belongs_to(const struct approval_entry *entry, const struct approval_asker *asker)
{
    return strcmp(entry->principal_sha256, asker->principal_sha256) == 0 &&
           (entry->answer != APPROVAL_ANSWER_ALLOW_SESSION ||
            strcmp(entry->session_sha256, asker->session_sha256) == 0);
}

/* A grant serves only a question that would accept such an answer. */
static bool may_serve(const struct approval_entry *entry, const struct approval_question *question)
{
    return entry->state != APPROVAL_ENTRY_STANDING ||
           (question->answers & APPROVAL_ANSWER_BIT(entry->answer)) != 0;
}

/* Is there an answer, or a question, for this very request from an earlier call? */
static bool use_earlier(const struct approval_question *question,
                        const struct approval_asker *asker, struct approval_outcome *outcome,
                        bool *ret_allowed, struct error *error)
{
    approval_table_expire();
    for (struct approval_entry *entry = approval_table_first(); entry; entry = entry->next) {
        if (entry->waited_for || strcmp(entry->request_sha256, question->request_sha256) != 0 ||
            !belongs_to(entry, asker) || !may_serve(entry, question))
            continue;
        *ret_allowed = entry->state == APPROVAL_ENTRY_PENDING
                           ? report_pending(entry, outcome, error)
                           : use_answer(entry, outcome, error);
        return true;
    }
    return false;
}

static bool deny(struct approval_entry *entry, enum error_code code, const char *message,
                 struct approval_outcome *outcome, struct error *error)
{
    *outcome = entry->outcome;
    (void)snprintf(outcome->decision, sizeof(outcome->decision), "deny");
    error_set(error, code, "%s", message);
    approval_entry_remove(entry);
    return false;
}

static bool time_out(struct approval_entry *entry, struct approval_outcome *outcome,
                     struct error *error)
{
    return deny(entry, ERROR_APPROVAL_TIMEOUT, "approval timed out", outcome, error);
}

/* Called with the lock held; releases it while it waits. */
static bool wait_for_answer(struct approval_entry *entry, const struct approval_question *question,
                            struct approval_outcome *outcome, struct error *error)
{
    struct timespec deadline = {
        .tv_sec = (time_t)(entry->expires_ms / 1000),
        .tv_nsec = (long)(entry->expires_ms % 1000) * 1000000,
    };
    while (entry->state == APPROVAL_ENTRY_OPEN) {
        if (question->cancelled(question->user))
            return deny(entry, ERROR_CANCELLED, "cancelled while waiting for approval", outcome,
                        error);
        if (monotonic_ms() >= entry->expires_ms)
            return time_out(entry, outcome, error);
        (void)pthread_cond_clockwait(&table_changed, &table_mutex, CLOCK_MONOTONIC, &deadline);
    }
    return use_answer(entry, outcome, error);
}

/* The refusal by an answer that does not allow. */
static enum error_code refusal_of(enum approval_answer answer)
{
    if (answer == APPROVAL_ANSWER_CANCEL)
        return ERROR_CANCELLED;
    return answer == APPROVAL_ANSWER_UNAVAILABLE ? ERROR_APPROVAL_UNAVAILABLE
                                                 : ERROR_APPROVAL_DENIED;
}

/* The answer of the entry from now on. false: it cannot be taken, and the request stands denied. */
static bool give_answer(struct approval_entry *entry, struct approval_decision_text *decision,
                        bool readable)
{
    bool bound = decision->request_sha256[0] == '\0' ||
                 strcmp(decision->request_sha256, entry->request_sha256) == 0;
    bool offered = (entry->answers & APPROVAL_ANSWER_BIT(decision->answer)) != 0;
    bool valid = readable && bound && offered;
    const char *reason = decision->reason;
    entry->state = APPROVAL_ENTRY_ANSWERED;
    entry->answer = valid ? decision->answer : APPROVAL_ANSWER_DENY;
    entry->refusal = refusal_of(entry->answer);
    if (!readable) {
        reason = "the decision could not be read";
    } else if (!bound) {
        reason = "the decision was made for another request";
        entry->refusal = ERROR_APPROVAL_MISMATCH;
    } else if (!offered) {
        reason = "the request does not accept this decision";
    } else {
        entry->outcome.arguments = TAKE_POINTER(decision->arguments);
    }
    (void)snprintf(entry->outcome.decision, sizeof(entry->outcome.decision), "%s",
                   approval_answer_name(entry->answer));
    if (valid && decision->id[0] != '\0')
        memcpy(entry->outcome.id, decision->id, sizeof(entry->outcome.id));
    /* If nobody was asked, no approver is named. */
    if (entry->answer != APPROVAL_ANSWER_UNAVAILABLE)
        memcpy(entry->outcome.approver, decision->approver, sizeof(decision->approver));
    (void)snprintf(entry->outcome.reason, sizeof(entry->outcome.reason), "%s", reason);
    return valid;
}

/* Two different answers for one token come from two people, or from one and a replayed copy. If
 * nothing has run by the first yet, nothing will. */
static void refuse_replay(struct approval_entry *entry,
                          const struct approval_decision_text *decision)
{
    bool same =
        decision->answer == entry->answer &&
        (!decision->arguments || strcmp(decision->arguments, entry->outcome.arguments) == 0);
    if (same || !approval_answer_allows(entry->answer))
        return;
    if (entry->state == APPROVAL_ENTRY_STANDING)
        entry->expires_ms = monotonic_ms() + APPROVAL_PENDING_MS;
    entry->state = APPROVAL_ENTRY_ANSWERED;
    entry->answer = APPROVAL_ANSWER_DENY;
    entry->refusal = ERROR_APPROVAL_REPLAYED;
    free(TAKE_POINTER(entry->outcome.arguments));
    (void)snprintf(entry->outcome.decision, sizeof(entry->outcome.decision), "deny");
    (void)snprintf(entry->outcome.reason, sizeof(entry->outcome.reason),
                   "the request was answered twice, and differently");
}

static bool settle(struct approval_entry *entry, uint32_t verdict,
                   const struct approval_question *question, struct approval_outcome *outcome,
                   struct error *error)
{
    bool nobody =
        entry->state == APPROVAL_ENTRY_ANSWERED && entry->answer == APPROVAL_ANSWER_UNAVAILABLE;
    if (nobody && question->cancelled(question->user))
        return deny(entry, ERROR_CANCELLED, "cancelled while waiting for approval", outcome, error);
    if (entry->state != APPROVAL_ENTRY_OPEN)
        return use_answer(entry, outcome, error);
    if (verdict == TOOL_VERDICT_LATER)
        return wait_for_answer(entry, question, outcome, error);
    if (verdict == TOOL_VERDICT_PENDING) {
        entry->state = APPROVAL_ENTRY_PENDING;
        entry->waited_for = false;
        entry->expires_ms = monotonic_ms() + APPROVAL_PENDING_MS;
        return report_pending(entry, outcome, error);
    }
    if (monotonic_ms() >= entry->expires_ms)
        return time_out(entry, outcome, error);
    if (verdict == TOOL_VERDICT_ALLOW) {
        struct approval_decision_text yes = {.answer = APPROVAL_ANSWER_ALLOW_ONCE,
                                             .approver = "host"};
        (void)give_answer(entry, &yes, true);
        return use_answer(entry, outcome, error);
    }
    return deny(entry, ERROR_APPROVAL_DENIED, "approval denied", outcome, error);
}

bool approval_obtain(const struct tool_host *host, const struct approval_question *question,
                     struct approval_outcome *outcome, struct error *error)
{
    if (!host->request_approval) {
        (void)snprintf(outcome->decision, sizeof(outcome->decision), "%s",
                       approval_answer_name(APPROVAL_ANSWER_UNAVAILABLE));
        error_set(error, ERROR_APPROVAL_UNAVAILABLE,
                  "approval is needed, and the host has no approver");
        host_log(
            host, TOOL_LOG_ERROR,
            "code-execute: the policy asks for approval, and the gateway's struct tool_host has "
            "no request_approval");
        return false;
    }
    struct approval_entry *entry = NULL;
    uint64_t token = 0;
    char id[APPROVAL_ID_LENGTH + 1];
    struct approval_asker asker;
    hash_name(question->principal, asker.principal_sha256);
    hash_name(question->session, asker.session_sha256);
    {
        HOLD_LOCK(table_mutex);
        bool allowed = false;
        if (use_earlier(question, &asker, outcome, &allowed, error))
            return allowed;
        entry = approval_entry_add(question, &asker, error);
        if (!entry)
            return false;
        token = entry->token;
        memcpy(id, entry->outcome.id, sizeof(id));
    }
    char *request_json = question->make_request(question->user, id);
    uint32_t verdict = TOOL_VERDICT_DENY;
    if (request_json)
        verdict = host_request_approval(host, token, request_json);
    free(request_json);

    HOLD_LOCK(table_mutex);
    return settle(entry, verdict, question, outcome, error);
}

bool approval_holds(const struct approval_outcome *outcome, struct error *error)
{
    if (outcome->expires_ms == 0 || monotonic_ms() < outcome->expires_ms)
        return true;
    error_set(error, ERROR_APPROVAL_TIMEOUT, "the approval expired before the run could begin");
    return false;
}

/* Only while the host is being asked: later the caller knows the request by its id. */
static int32_t name_pending(uint64_t token, const char id[APPROVAL_ID_LENGTH + 1])
{
    HOLD_LOCK(table_mutex);
    struct approval_entry *entry = approval_table_find(token);
    if (!entry || entry->state != APPROVAL_ENTRY_OPEN)
        return TOOL_UNKNOWN;
    memcpy(entry->outcome.id, id, sizeof(entry->outcome.id));
    return TOOL_ACCEPTED;
}

int32_t approval_reply(uint64_t token, const char *decision_json)
{
    char pending_id[APPROVAL_ID_LENGTH + 1];
    if (approval_pending_id_read(decision_json, pending_id))
        return name_pending(token, pending_id);
    CLEANUP(approval_decision_clear)
    struct approval_decision_text decision = {.answer = APPROVAL_ANSWER_DENY};
    bool readable = approval_decision_read(decision_json, &decision);

    HOLD_LOCK(table_mutex);
    struct approval_entry *entry = approval_table_find(token);
    if (!entry)
        return TOOL_UNKNOWN;
    if (entry->state == APPROVAL_ENTRY_ANSWERED || entry->state == APPROVAL_ENTRY_STANDING) {
        if (readable)
            refuse_replay(entry, &decision);
        return TOOL_UNKNOWN;
    }
    bool valid = give_answer(entry, &decision, readable);
    (void)pthread_cond_broadcast(&table_changed);
    return valid ? TOOL_ACCEPTED : TOOL_INVALID;
}

uint64_t approval_waiting_count(void)
{
    HOLD_LOCK(table_mutex);
    return approval_table_waiting();
}

void approval_wake_all(void)
{
    HOLD_LOCK(table_mutex);
    (void)pthread_cond_broadcast(&table_changed);
}

void approval_forget_all(void)
{
    HOLD_LOCK(table_mutex);
    for (struct approval_entry *entry = approval_table_first(), *next = NULL; entry; entry = next) {
        next = entry->next;
        if (entry->waited_for) {
            entry->state = APPROVAL_ENTRY_ANSWERED;
            entry->answer = APPROVAL_ANSWER_DENY;
            entry->refusal = ERROR_APPROVAL_DENIED;
            (void)snprintf(entry->outcome.decision, sizeof(entry->outcome.decision), "deny");
        } else {
            approval_entry_remove(entry);
        }
    }
    (void)pthread_cond_broadcast(&table_changed);
}

void approval_after_fork(void)
{
    table_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    table_changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    approval_table_abandon();
}
