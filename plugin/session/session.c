/* SPDX-License-Identifier: Apache-2.0 */
/* The table of sessions: see session.h. Any thread. */
#include "session/session.h"

#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "session/session_entry.h"

#define RETRY_AFTER_MS 1000

static pthread_mutex_t sessions_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct session *sessions; /* those that live, and those whose loss nobody has heard of */

bool session_add_language(struct session *session, const char *language)
{
    HOLD_LOCK(sessions_mutex);
    return session_append_language(session, language);
}

/* The functions below are called with the lock held. */

static void unlink_session(struct session *session)
{
    for (struct session **link = &sessions; *link; link = &(*link)->next)
        if (*link == session) {
            *link = session->next;
            return;
        }
}

/* Its branch ends, and its sandbox with the last one; the entry stays until its owner has heard of
 * it. The call that has taken it still needs the redaction. */
static void end_branch(struct session *session, enum session_loss loss)
{
    struct session_sandbox *sandbox = session->sandbox;
    if (session->loss != SESSION_LOSS_NONE)
        return;
    session->loss = loss;
    sandbox->branches &= ~(UINT32_C(1) << session->branch);
    if (--sandbox->living == 0) {
        session_run_close(&sandbox->run);
        broker_run_close(&sandbox->broker_run);
        admission_release_memory(sandbox->kept_memory_bytes);
    } else if (sandbox->awake == session->branch) {
        session_run_drop(&sandbox->run, SESSION_BRANCH_AWAKE);
        sandbox->awake = SESSION_BRANCH_AWAKE;
    } else {
        session_run_drop(&sandbox->run, session->branch);
    }
    if (!session->is_taken)
        session_forget_secrets(session);
}

/* With all that live in it. */
static void end_sandbox(const struct session_sandbox *sandbox, enum session_loss loss)
{
    for (struct session *session = sessions; session; session = session->next)
        if (session->sandbox == sandbox)
            end_branch(session, loss);
}

/* Between two cells: of a session that no call has taken, or that waits for its call's cell. */
static void notice_end(struct session *session)
{
    struct run_event end;
    if (session->loss != SESSION_LOSS_NONE || !session_run_has_ended(&session->sandbox->run, &end))
        return;
    /* Between two cells nobody but its backend's clock cancels it. */
    enum session_loss loss = session_loss_of((enum run_cause)end.cause);
    end_sandbox(session->sandbox, loss == SESSION_LOSS_CANCELLED ? SESSION_LOSS_EXPIRED : loss);
}

static void look_after(struct session *session)
{
    if (!session->sandbox->is_taken)
        notice_end(session);
}

static uint64_t count_of(const char *principal, bool every)
{
    uint64_t count = 0;
    for (const struct session *session = sessions; session; session = session->next)
        count += session->loss == SESSION_LOSS_NONE &&
                 (every || session_same_text(session->principal, principal));
    return count;
}

/* The idle one that was used least recently: of the principal, or, with every, of the principal
 * that has most. */
static struct session *find_victim(const char *principal, bool every)
{
    struct session *victim = NULL;
    uint64_t most = 0;
    for (struct session *session = sessions; session; session = session->next) {
        if (session->sandbox->is_taken || session->loss != SESSION_LOSS_NONE ||
            (!every && !session_same_text(session->principal, principal)))
            continue;
        uint64_t count = every ? count_of(session->principal, false) : 0;
        if (!victim || count > most || (count == most && session->used_ms < victim->used_ms)) {
            victim = session;
            most = count;
        }
    }
    return victim;
}

static bool make_room(const char *principal, bool every, uint64_t most, struct error *error)
{
    while (count_of(principal, every) >= most) {
        struct session *victim = find_victim(principal, every);
        if (!victim) {
            error_set(error, ERROR_TOO_MANY_REQUESTS,
                      "%llu sessions are busy: the policy allows no more",
                      (unsigned long long)most);
            error->retry_after_ms = RETRY_AFTER_MS;
            return false;
        }
        end_branch(victim, SESSION_LOSS_EVICTED);
    }
    return true;
}

/* Losses that nobody asks for are forgotten, the oldest first. */
static void forget_old_losses(void)
{
    size_t kept = 0;
    for (struct session **link = &sessions; *link;) {
        struct session *session = *link;
        if (session->loss != SESSION_LOSS_NONE && !session->is_taken &&
            ++kept > SESSION_LOSSES_LIMIT) {
            *link = session->next;
            session_free(session);
        } else {
            link = &session->next;
        }
    }
}

static struct session *find(const char *id, const char *principal)
{
    for (struct session *session = sessions; session; session = session->next)
        if (strcmp(session->id, id) == 0)
            return session_same_text(session->principal, principal) ? session : NULL;
    return NULL;
}

static void set_loss(const struct session *session, struct error *error)
{
    error_set(error, ERROR_SESSION_LOST, "the session %s is lost: %s", session->id,
              session_loss_name(session->loss));
}

static void report_loss(struct session *session, struct error *error)
{
    set_loss(session, error);
    unlink_session(session);
    session_free(session);
}

struct session *session_take(const char *id, const struct session_terms *terms, struct error *error)
{
    HOLD_LOCK(sessions_mutex);
    struct session *session = find(id, terms->principal);
    if (!session) {
        error_set(error, ERROR_SESSION_NOT_FOUND, "there is no session %s", id);
        return NULL;
    }
    if (session->is_taken || (session->loss == SESSION_LOSS_NONE && session->sandbox->is_taken)) {
        error_set(error, ERROR_SESSION_BUSY, "the session %s%s executes another cell", id,
                  session->is_taken ? "" : ", or one that shares its sandbox,");
        error->retry_after_ms = RETRY_AFTER_MS;
        return NULL;
    }
    look_after(session);
    if (session->loss == SESSION_LOSS_NONE &&
        (strcmp(session->policy_sha256, terms->policy_sha256) != 0 ||
         session->sandbox->run.mode != terms->mode))
        end_branch(session, SESSION_LOSS_POLICY_CHANGED);
    if (session->loss == SESSION_LOSS_NONE && session->cell_count >= terms->max_cells)
        end_branch(session, SESSION_LOSS_EXPIRED);
    if (session->loss != SESSION_LOSS_NONE) {
        report_loss(session, error);
        return NULL;
    }
    if (!session_fits(session, terms, error))
        return NULL;
    session->is_taken = session->sandbox->is_taken = true;
    session->taken_by = terms->call;
    return session;
}

bool session_still_lives(struct session *session, struct error *error)
{
    HOLD_LOCK(sessions_mutex);
    notice_end(session);
    if (session->loss != SESSION_LOSS_NONE)
        set_loss(session, error);
    return session->loss == SESSION_LOSS_NONE;
}

/* As one that is counted. */
static bool add(struct session *session, const struct session_terms *terms, struct error *error)
{
    for (struct session *other = sessions; other; other = other->next)
        look_after(other);
    forget_old_losses();
    if (!make_room(terms->principal, false, terms->max_per_principal, error) ||
        !make_room(NULL, true, terms->max_total, error))
        return false;
    session->next = sessions;
    sessions = session;
    return true;
}

struct session *session_add(const struct session_terms *terms, struct admission *admission,
                            struct error *error)
{
    struct session *session = session_new(terms);
    if (!session) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the session");
        return NULL;
    }
    HOLD_LOCK(sessions_mutex);
    if (!add(session, terms, error)) {
        session_free(session);
        return NULL;
    }
    session->sandbox->kept_memory_bytes = admission_keep_memory(admission);
    return session;
}

/* The call goes on with another one. */
static void hand_back(struct session *session)
{
    session->is_taken = false;
    session->taken_by = NULL;
    session->used_ms = monotonic_ms();
    if (session->is_to_end) /* its owner has not heard of it yet */
        end_branch(session, SESSION_LOSS_ENDED_BY_OPERATOR);
}

struct session *session_fork(struct session *session, const struct session_terms *terms,
                             struct error *error)
{
    HOLD_LOCK(sessions_mutex);
    struct session_sandbox *sandbox = session->sandbox;
    struct session *branch = session_new_branch(session, terms);
    if (!branch) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the session");
        return NULL;
    }
    if (!add(branch, terms, error)) {
        session_free(branch);
        return NULL;
    }
    while (sandbox->branches & (UINT32_C(1) << branch->branch))
        branch->branch++;
    sandbox->branches |= UINT32_C(1) << branch->branch;
    sandbox->awake = branch->branch;
    sandbox->living++;
    hand_back(session);
    return branch;
}

/* At the end of a cell, so that its result says so. */
void session_end_as_wanted(struct session *session)
{
    HOLD_LOCK(sessions_mutex);
    if (session->is_to_end)
        end_branch(session, SESSION_LOSS_ENDED_BY_OPERATOR);
}

void session_keep_secrets(struct session *session, json_t *names, struct redaction *redaction)
{
    session->secrets = names;
    session->redaction = redaction;
}

/* One that has ended alone leaves the others theirs, unless that sandbox is gone by now. */
void session_lose(struct session *session, enum session_loss loss)
{
    HOLD_LOCK(sessions_mutex);
    if (session->loss == SESSION_LOSS_NONE || session->sandbox->run.backend.events < 0)
        end_sandbox(session->sandbox, loss);
}

void session_lose_alone(struct session *session, enum session_loss loss)
{
    HOLD_LOCK(sessions_mutex);
    end_branch(session, loss);
}

/* Behind the call of one of them: nobody could touch the sandbox meanwhile. */
static void end_siblings_as_wanted(const struct session_sandbox *sandbox)
{
    for (struct session *session = sessions; session; session = session->next)
        if (session->sandbox == sandbox && session->is_to_end)
            end_branch(session, SESSION_LOSS_ENDED_BY_OPERATOR);
}

void session_give_back(struct session *session)
{
    if (!session)
        return;
    HOLD_LOCK(sessions_mutex);
    bool is_heard_of = session->loss != SESSION_LOSS_NONE;
    session->sandbox->is_taken = false;
    hand_back(session);
    end_siblings_as_wanted(session->sandbox);
    if (!is_heard_of)
        return;
    unlink_session(session);
    session_free(session);
}

uint64_t session_count(void)
{
    HOLD_LOCK(sessions_mutex);
    for (struct session *session = sessions; session; session = session->next)
        look_after(session);
    return count_of(NULL, true);
}

void session_end_all(void)
{
    HOLD_LOCK(sessions_mutex);
    for (struct session **link = &sessions; *link;) {
        struct session *session = *link;
        if (session->sandbox->is_taken) { /* its call ends it */
            link = &session->next;
            continue;
        }
        end_branch(session, SESSION_LOSS_CRASHED);
        *link = session->next;
        session_free(session);
    }
}

void session_after_fork(void)
{
    sessions_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (struct session *session = sessions; session; session = session->next) {
        /* Closing its copies of the parent's descriptors ends nothing; a shutdown would. */
        struct session_run *run = &session->sandbox->run;
        close_fd(TAKE_FD(run->backend.events));
        for (size_t i = 0; i < COUNT_OF(run->cells); i++)
            close_fd(TAKE_FD(run->cells[i]));
        session_run_close_late(run);
        broker_run_forget(&session->sandbox->broker_run);
    }
    while (sessions) {
        struct session *session = sessions;
        sessions = session->next;
        session_free(session);
    }
}

/* For operators. */

static json_t *listed(const struct session *session)
{
    uint64_t idle_ms = session->is_taken ? 0 : monotonic_ms() - session->used_ms;
    json_t *languages = json_array(); /* json_pack() takes it, also where it fails */
    for (uint32_t i = 0; i < session->language_count; i++)
        if (json_array_append_new(languages, json_string(session->languages[i])) != 0)
            json_decref(TAKE_POINTER(languages));
    return json_pack("{s:s, s:s?, s:o, s:s, s:I, s:I, s:I}", "id", session->id, "principal",
                     session->principal, "languages", languages, "state",
                     session->is_taken ? "busy" : "idle", "cells", (json_int_t)session->cell_count,
                     "idle_ms", (json_int_t)idle_ms, "memory_bytes",
                     (json_int_t)session->sandbox->kept_memory_bytes);
}

json_t *session_list(void)
{
    json_auto_t *list = json_array();
    HOLD_LOCK(sessions_mutex);
    for (struct session *session = sessions; session; session = session->next) {
        look_after(session);
        if (session->loss == SESSION_LOSS_NONE && json_array_append_new(list, listed(session)) != 0)
            return NULL;
    }
    return json_incref(list);
}

bool session_end(const char *id, void (*cancel)(const struct registered_call *call))
{
    HOLD_LOCK(sessions_mutex);
    struct session *session = sessions;
    while (session && strcmp(session->id, id) != 0)
        session = session->next;
    if (!session)
        return false;
    look_after(session);
    if (session->loss != SESSION_LOSS_NONE)
        return false;
    session->is_to_end = true;
    if (session->is_taken)
        cancel(session->taken_by);
    else if (!session->sandbox->is_taken)
        end_branch(session, SESSION_LOSS_ENDED_BY_OPERATOR);
    return true;
}
