/* SPDX-License-Identifier: Apache-2.0 */
/* Grants and requests as rows. On the thread that opened the store. */
#include "approval/approval_store.h"

#include <inttypes.h>
#include <string.h>

#include "approval/approval_store_file.h"
#include "base/cleanup.h"
#include "base/json.h"

void approval_store_summary(const json_t *request, char ret[APPROVAL_SUMMARY])
{
    const char *code = json_member_string(request, "code", "");
    if (approval_is_of_call(request)) {
        CLEANUP_FREE char *arguments = json_compact(json_object_get(request, "arguments"));
        (void)snprintf(ret, APPROVAL_SUMMARY, "call of %.64s: %s",
                       json_member_string(request, "tool", ""), arguments ? arguments : "");
        return;
    }
    (void)snprintf(ret, APPROVAL_SUMMARY, "%.20s: %.*s",
                   json_member_string(request, "language", ""), (int)strcspn(code, "\n"), code);
}

bool approval_store_use_grant(struct approval_store *store, const struct approval_subject *subject,
                              struct approval_grant *ret, bool *ret_found, struct failure *failure)
{
    CLEANUP_STATEMENT sqlite3_stmt *statement =
        store_statement(store, failure,
                        "UPDATE grants SET uses = uses + 1 WHERE request_sha256 = ? AND principal"
                        " IS ? AND expires > ? RETURNING id, approver, created, expires",
                        "ssi", subject->request_sha256, subject->principal, approval_store_now());
    if (!store_next(store, statement, ret_found, failure))
        return false;
    if (!*ret_found)
        return true;
    (void)snprintf(ret->id, sizeof(ret->id), "%s", store_text(statement, 0));
    (void)snprintf(ret->approver, sizeof(ret->approver), "%s", store_text(statement, 1));
    ret->created = sqlite3_column_int64(statement, 2);
    ret->expires = sqlite3_column_int64(statement, 3);
    bool more = true; /* RETURNING's change counts when the statement has ended */
    return store_next(store, statement, &more, failure);
}

static bool count_rows(struct approval_store *store, const char *sql, int64_t *ret,
                       struct failure *failure)
{
    CLEANUP_STATEMENT sqlite3_stmt *statement =
        store_statement(store, failure, sql, "i", approval_store_now());
    bool row = false;
    if (!store_next(store, statement, &row, failure))
        return false;
    *ret = sqlite3_column_int64(statement, 0);
    return true;
}

/* The subject's own where it is free. */
static bool choose_id(struct approval_store *store, const char *taken_sql,
                      const struct approval_subject *subject, char ret[APPROVAL_STORE_ID + 1],
                      struct failure *failure)
{
    bool taken = true;
    if (subject->id) {
        CLEANUP_STATEMENT sqlite3_stmt *statement =
            store_statement(store, failure, taken_sql, "s", subject->id);
        if (!store_next(store, statement, &taken, failure))
            return false;
    }
    if (taken)
        return store_new_id(ret, failure);
    (void)snprintf(ret, APPROVAL_STORE_ID + 1, "%s", subject->id);
    return true;
}

/* In a transaction. */
static bool insert_grant(struct approval_store *store, const struct approval_subject *subject,
                         const char *approver, const char *summary, int64_t lifetime_s,
                         struct failure *failure)
{
    char id[APPROVAL_STORE_ID + 1];
    int64_t now = approval_store_now();
    int64_t standing = 0;
    if (!store_tidy(store, failure))
        return false;
    if (!store_run(store, NULL, failure,
                   "DELETE FROM grants WHERE request_sha256 = ? AND principal IS ?", "ss",
                   subject->request_sha256, subject->principal) ||
        !choose_id(store, "SELECT 1 FROM grants WHERE id = ?", subject, id, failure) ||
        !count_rows(store, "SELECT count(*) FROM grants WHERE expires > ?", &standing, failure))
        return false;
    if (standing >= APPROVAL_STORE_GRANTS) {
        (void)failure_set(failure, STORE_CODE, "there are %" PRId64 " standing grants already",
                          standing);
        return failure_set_hint(failure, "revoke some: toolhost approvals list");
    }
    return store_run(store, NULL, failure,
                     "INSERT INTO grants (id, request_sha256, principal, approver, summary,"
                     " created, expires) VALUES (?, ?, ?, ?, ?, ?, ?)",
                     "sssssii", id, subject->request_sha256, subject->principal, approver, summary,
                     now, now + lifetime_s);
}

bool approval_store_add_grant(struct approval_store *store, const struct approval_subject *subject,
                              const char *approver, const char *summary, int64_t lifetime_s,
                              struct failure *failure)
{
    CLEANUP_TRANSACTION struct store_transaction transaction = {NULL};
    return store_begin(store, &transaction, failure) &&
           insert_grant(store, subject, approver, summary, lifetime_s, failure) &&
           store_commit(&transaction, failure);
}

static bool refuse_unknown(const char *id, struct failure *failure)
{
    (void)failure_set(failure, "approval_unknown", "no grant and no waiting request %s", id);
    return failure_set_hint(failure, "see: toolhost approvals list");
}

static const char revoke_request[] =
    "UPDATE requests SET state = 'revoked' WHERE id = ? AND state IN ('open', 'answered')";

void approval_store_withdraw(struct approval_store *store, const char *id)
{
    struct failure failure;
    (void)store_run(store, NULL, &failure, revoke_request, "s", id);
}

bool approval_store_revoke(struct approval_store *store, const char *id, struct failure *failure)
{
    int grants = 0;
    int requests = 0;
    CLEANUP_TRANSACTION struct store_transaction transaction = {NULL};
    if (!store_begin(store, &transaction, failure))
        return false;
    /* A grant of an identical request is that request's too, whatever its id. */
    return store_run(store, &grants, failure,
                     "DELETE FROM grants WHERE id = ? OR EXISTS (SELECT 1 FROM requests WHERE"
                     " requests.id = ? AND requests.request_sha256 = grants.request_sha256 AND"
                     " requests.principal IS grants.principal)",
                     "ss", id, id) &&
           store_run(store, &requests, failure, revoke_request, "s", id) &&
           store_commit(&transaction, failure) &&
           (grants + requests > 0 || refuse_unknown(id, failure));
}

bool approval_store_ask(struct approval_store *store, const struct approval_subject *subject,
                        const char *request_json, bool any_call, int64_t lifetime_s,
                        char ret_id[APPROVAL_STORE_ID + 1], struct failure *failure)
{
    int64_t now = approval_store_now();
    int64_t waiting = 0;
    CLEANUP_TRANSACTION struct store_transaction transaction = {NULL};
    if (!store_begin(store, &transaction, failure) || !store_tidy(store, failure) ||
        !choose_id(store, "SELECT 1 FROM requests WHERE id = ?", subject, ret_id, failure) ||
        !count_rows(store, "SELECT count(*) FROM requests WHERE state = 'open' AND expires > ?",
                    &waiting, failure))
        return false;
    if (waiting >= APPROVAL_STORE_REQUESTS)
        return failure_set(failure, STORE_CODE, "%" PRId64 " requests wait for an answer already",
                           waiting);
    return store_run(store, NULL, failure,
                     "INSERT INTO requests (id, request_sha256, principal, request, any_call,"
                     " state, created, expires) VALUES (?, ?, ?, ?, ?, 'open', ?, ?)",
                     "ssssiii", ret_id, subject->request_sha256, subject->principal, request_json,
                     (int64_t)any_call, now, now + lifetime_s) &&
           store_commit(&transaction, failure);
}

/* The answer in the columns word, approver, reason. One that cannot be read denies. */
static void read_answer(sqlite3_stmt *statement, struct approval_decision *ret)
{
    const char *word = store_text(statement, 0);
    const char *approver = store_text(statement, 1);
    const char *reason = store_text(statement, 2);
    ret->word = APPROVAL_WORD_DENY;
    (void)approval_word_find(word ? word : "", &ret->word);
    (void)snprintf(ret->approver, sizeof(ret->approver), "%s", approver ? approver : "");
    (void)snprintf(ret->reason, sizeof(ret->reason), "%s", reason ? reason : "");
}

/* The state of a request that has no answer to take. */
static bool unanswered_state(struct approval_store *store, const char *id, enum approval_state *ret,
                             struct failure *failure)
{
    bool row = false;
    CLEANUP_STATEMENT sqlite3_stmt *statement = store_statement(
        store, failure, "SELECT expires > ? FROM requests WHERE id = ? AND state = 'open'", "is",
        approval_store_now(), id);
    if (!store_next(store, statement, &row, failure))
        return false;
    *ret = APPROVAL_STATE_GONE;
    if (row)
        *ret = sqlite3_column_int(statement, 0) ? APPROVAL_STATE_OPEN : APPROVAL_STATE_EXPIRED;
    return true;
}

/* One statement finds the answer and uses it up: of any number of processes one gets it. */
bool approval_store_take_answer(struct approval_store *store, const char *id,
                                enum approval_state *ret_state, struct approval_decision *ret,
                                struct failure *failure)
{
    bool row = false;
    enum approval_state unanswered;
    /* Looked up first, so that an answer given in between is not missed. */
    if (!unanswered_state(store, id, &unanswered, failure))
        return false;
    CLEANUP_STATEMENT sqlite3_stmt *statement =
        store_statement(store, failure,
                        "UPDATE requests SET state = 'used' WHERE id = ? AND state = 'answered' AND"
                        " expires > ? RETURNING word, approver, reason",
                        "si", id, approval_store_now());
    if (!store_next(store, statement, &row, failure))
        return false;
    *ret_state = row ? APPROVAL_STATE_ANSWERED : unanswered;
    if (!row)
        return true;
    read_answer(statement, ret);
    return store_next(store, statement, &row, failure);
}

bool approval_store_take_identical(struct approval_store *store,
                                   const struct approval_subject *subject,
                                   char ret_id[APPROVAL_STORE_ID + 1],
                                   enum approval_state *ret_state, struct approval_decision *ret,
                                   struct failure *failure)
{
    bool row = false;
    *ret_state = APPROVAL_STATE_GONE;
    CLEANUP_STATEMENT sqlite3_stmt *statement =
        store_statement(store, failure,
                        "SELECT id FROM requests WHERE request_sha256 = ? AND principal IS ? AND"
                        " any_call = 1 AND state IN ('open', 'answered') AND expires > ?"
                        " ORDER BY created, id LIMIT 1",
                        "ssi", subject->request_sha256, subject->principal, approval_store_now());
    if (!store_next(store, statement, &row, failure))
        return false;
    if (!row)
        return true;
    (void)snprintf(ret_id, APPROVAL_STORE_ID + 1, "%s", store_text(statement, 0));
    /* A reader's lock would keep this process itself from writing. */
    (void)sqlite3_reset(statement);
    return approval_store_take_answer(store, ret_id, ret_state, ret, failure);
}

/* What an answer needs to know of its request. */
struct asked {
    char sha256[65];
    char *principal;
    json_t *request;
};

static void asked_clear(struct asked *asked)
{
    free(asked->principal);
    json_decref(asked->request);
}

static bool find_open_request(struct approval_store *store, const char *id, struct asked *ret,
                              struct failure *failure)
{
    bool row = false;
    CLEANUP_STATEMENT sqlite3_stmt *statement = store_statement(
        store, failure,
        "SELECT state, expires, request_sha256, principal, request FROM requests WHERE id = ?", "s",
        id);
    if (!store_next(store, statement, &row, failure))
        return false;
    if (!row)
        return refuse_unknown(id, failure);
    if (strcmp(store_text(statement, 0), "open") != 0)
        return failure_set(failure, "approval_replayed", "the request %s was answered before: %s",
                           id, store_text(statement, 0));
    if (sqlite3_column_int64(statement, 1) <= approval_store_now())
        return failure_set(failure, "approval_expired", "no call waits for %s any more", id);
    (void)snprintf(ret->sha256, sizeof(ret->sha256), "%s", store_text(statement, 2));
    const char *principal = store_text(statement, 3);
    ret->principal = principal ? strdup(principal) : NULL;
    ret->request = json_loads(store_text(statement, 4), JSON_REJECT_DUPLICATES, NULL);
    return (ret->request && (ret->principal || !principal)) || failure_out_of_memory(failure);
}

bool approval_store_answer(struct approval_store *store, const char *id, enum approval_word word,
                           const char *approver, const char *reason, int64_t grant_s,
                           struct failure *failure)
{
    CLEANUP_TRANSACTION struct store_transaction transaction = {NULL};
    CLEANUP(asked_clear) struct asked asked = {0};
    if (!store_begin(store, &transaction, failure) ||
        !find_open_request(store, id, &asked, failure))
        return false;
    if (word != APPROVAL_WORD_DENY && !approval_offers(asked.request, word))
        return failure_set(failure, "approval_not_offered", "the request %s does not accept %s", id,
                           approval_word_name(word));
    if (!store_run(store, NULL, failure,
                   "UPDATE requests SET state = 'answered', word = ?, approver = ?, reason = ?"
                   " WHERE id = ?",
                   "ssss", approval_word_name(word), approver, reason, id))
        return false;
    const struct approval_subject subject = {asked.sha256, asked.principal, id};
    char summary[APPROVAL_SUMMARY];
    approval_store_summary(asked.request, summary);
    return (grant_s == 0 || insert_grant(store, &subject, approver, summary, grant_s, failure)) &&
           store_commit(&transaction, failure);
}

static bool list_rows(struct approval_store *store, const char *sql, bool grant, const char *id,
                      approval_row_sink *sink, void *user, struct failure *failure)
{
    CLEANUP_STATEMENT sqlite3_stmt *statement = store_statement(store, failure, sql, "ss", id, id);
    bool row = true;
    while (statement && store_next(store, statement, &row, failure) && row) {
        const struct approval_row entry = {
            .grant = grant,
            .id = store_text(statement, 0),
            .request_sha256 = store_text(statement, 1),
            .principal = store_text(statement, 2),
            .state = store_text(statement, 3),
            .approver = store_text(statement, 4),
            .request_json = store_text(statement, 5),
            .summary = store_text(statement, 6),
            .created = sqlite3_column_int64(statement, 7),
            .expires = sqlite3_column_int64(statement, 8),
            .uses = sqlite3_column_int64(statement, 9),
        };
        sink(user, &entry);
    }
    return statement && !row;
}

bool approval_store_list(struct approval_store *store, const char *id, approval_row_sink *sink,
                         void *user, struct failure *failure)
{
    static const char requests[] =
        "SELECT id, request_sha256, principal, state, approver, request, '', created, expires, 0"
        " FROM requests WHERE ? IS NULL OR id = ? ORDER BY created, id";
    static const char grants[] =
        "SELECT id, request_sha256, principal, 'standing', approver, NULL, summary, created,"
        " expires, uses FROM grants WHERE ? IS NULL OR id = ? ORDER BY created, id";
    return list_rows(store, requests, false, id, sink, user, failure) &&
           list_rows(store, grants, true, id, sink, user, failure);
}
