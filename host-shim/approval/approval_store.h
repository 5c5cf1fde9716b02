/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of standing grants and of requests that wait for an answer: SQLite, so that any number
 * of processes may use it at the same time. Each function is one transaction. The file and its
 * directory must belong to this user (or root), without write permission for others. Times are Unix
 * seconds. A store belongs to the thread that opened it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "approval/approval_decision.h"
#include "base/failure.h"

#define APPROVAL_STORE_ID       32u        /* bytes of a grant's or request's name, at most */
#define APPROVAL_STORE_REQUESTS 256u       /* that wait at a time */
#define APPROVAL_STORE_GRANTS   1024u      /* that stand at a time */
#define APPROVAL_STORE_JSON     (9u << 20) /* bytes of a request or an answer */

struct approval_store;

/* path NULL: $XDG_STATE_HOME/toolhost/approvals.sqlite. make: creates what is not there; else *ret
 * is NULL, which is no failure, where there is no file. */
bool approval_store_open(const char *path, bool make, struct approval_store **ret,
                         struct failure *failure);
void approval_store_close(struct approval_store **store);

/* Whose request: by its hash, the principal (NULL: none named). id is the provider's name for the
 * approval, by which request and grant are kept; NULL: the store makes one. Borrowed. */
struct approval_subject {
    const char *request_sha256;
    const char *principal;
    const char *id;
};

struct approval_grant {
    char id[APPROVAL_STORE_ID + 1];
    char approver[192];
    int64_t created, expires;
};

/* The grant that stands for the subject; counts its use. */
bool approval_store_use_grant(struct approval_store *store, const struct approval_subject *subject,
                              struct approval_grant *ret, bool *ret_found, struct failure *failure);
/* Has it stand for lifetime_s from now on, in the place of an earlier one for the same. summary is
 * what a list says of it. */
bool approval_store_add_grant(struct approval_store *store, const struct approval_subject *subject,
                              const char *approver, const char *summary, int64_t lifetime_s,
                              struct failure *failure);
/* Removes a waiting request whose call has ended. */
void approval_store_withdraw(struct approval_store *store, const char *id);
/* Takes away the request of that id, its answer, and what stands granted by it. false also where
 * there is none of these (code approval_unknown). */
bool approval_store_revoke(struct approval_store *store, const char *id, struct failure *failure);

/* The state of a request. */
enum approval_state {
    APPROVAL_STATE_OPEN,
    APPROVAL_STATE_ANSWERED, /* *ret is the answer, which is used up by having been read */
    APPROVAL_STATE_EXPIRED,  /* not answered in time */
    APPROVAL_STATE_GONE,     /* revoked, or another call used the answer */
};

/* Puts a request in. any_call: the next identical call takes the answer (pending); else only the
 * caller that knows the id. */
bool approval_store_ask(struct approval_store *store, const struct approval_subject *subject,
                        const char *request_json, bool any_call, int64_t lifetime_s,
                        char ret_id[APPROVAL_STORE_ID + 1], struct failure *failure);
/* Reads and uses up the answer of that request; *ret is to be cleared (approval_clear()). */
bool approval_store_take_answer(struct approval_store *store, const char *id,
                                enum approval_state *ret_state, struct approval_decision *ret,
                                struct failure *failure);
/* The same for the subject's request that any identical call may come for. GONE: there is none. */
bool approval_store_take_identical(struct approval_store *store,
                                   const struct approval_subject *subject,
                                   char ret_id[APPROVAL_STORE_ID + 1],
                                   enum approval_state *ret_state, struct approval_decision *ret,
                                   struct failure *failure);
/* Answers an open request, once: code approval_unknown, approval_expired or approval_replayed (it
 * has an answer). grant_s > 0: an allowing answer also stands as a grant for so long. */
bool approval_store_answer(struct approval_store *store, const char *id, enum approval_word word,
                           const char *approver, const char *reason, int64_t grant_s,
                           struct failure *failure);

/* One row of the list; borrowed. */
struct approval_row {
    bool grant; /* else a request */
    const char *id, *request_sha256, *principal, *state, *approver, *request_json, *summary;
    int64_t created, expires, uses;
};
typedef void approval_row_sink(void *user, const struct approval_row *row);

/* All of it, the oldest first; or with an id only that one. */
bool approval_store_list(struct approval_store *store, const char *id, approval_row_sink *sink,
                         void *user, struct failure *failure);

#define APPROVAL_SUMMARY 128u
/* The summary in lists: the language and the beginning of the code. Untrusted text. */
void approval_store_summary(const json_t *request, char ret[APPROVAL_SUMMARY]);

int64_t approval_store_now(void);
