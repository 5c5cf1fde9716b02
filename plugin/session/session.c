/* SPDX-License-Identifier: Apache-2.0 */
/* The table of sessions: see session.h. Any thread. */
#include "session/session.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/lock.h"

#define RETRY_AFTER_MS 1000

static pthread_mutex_t sessions_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct session *sessions; /* those that live, and those whose loss nobody has heard of */

static const char *const loss_names[SESSION_LOSS_COUNT] = {
#define X(constant, name) name,
    SESSION_LOSSES(X)
#undef X
};

const char *session_loss_name(enum session_loss loss)
{
    return loss_names[loss];
}

enum session_loss session_loss_of(enum run_cause cause)
{
    static const enum session_loss losses[RUN_CAUSE_COUNT] = {
        [RUN_CAUSE_EXIT] = SESSION_LOSS_EXITED,
        [RUN_CAUSE_WALL_TIMEOUT] = SESSION_LOSS_TIMEOUT,
        [RUN_CAUSE_CPU_LIMIT] = SESSION_LOSS_CPU_LIMIT,
        [RUN_CAUSE_MEMORY_LIMIT] = SESSION_LOSS_MEMORY,
        [RUN_CAUSE_OUTPUT_LIMIT] = SESSION_LOSS_OUTPUT_LIMIT,
        [RUN_CAUSE_CANCELLED] = SESSION_LOSS_CANCELLED,
    };
    return losses[cause] == SESSION_LOSS_NONE ? SESSION_LOSS_CRASHED : losses[cause];
}

static bool same_text(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

static void forget_secrets(struct session *session)
{
    redaction_free(TAKE_POINTER(session->redaction));
}

static void free_session(struct session *session)
{
    forget_secrets(session);
    json_decref(session->secrets);
    session_run_close(&session->run);
    free(session->principal);
    for (uint32_t i = 0; i < session->language_count; i++)
        free(session->languages[i]);
    free(session->workspace);
    free(session->cells_grant);
    json_decref(session->cells);
    free(session);
}

uint32_t session_program_of(const struct session *session, const char *language)
{
    uint32_t number = 0;
    while (number < session->language_count && strcmp(session->languages[number], language) != 0)
        number++;
    return number;
}

static bool append_language(struct session *session, const char *language)
{
    char *copy = session->language_count < SESSION_PROGRAMS_MOST ? strdup(language) : NULL;
    if (copy)
        session->languages[session->language_count++] = copy;
    return copy;
}

bool session_add_language(struct session *session, const char *language)
{
    HOLD_LOCK(sessions_mutex); /* an operator may be reading them */
    return append_language(session, language);
}

bool session_fits(const struct session *session, const struct session_terms *terms,
                  struct error *error)
{
    const char *what = NULL;
    if (session->network != terms->network)
        what = "network";
    else if (!same_text(session->workspace, terms->workspace))
        what = "workspace";
    else if (terms->asks_memory && session->limits.memory_bytes != terms->limits->memory_bytes)
        what = "memory_bytes";
    if (!what)
        return true;
    error_set(error, ERROR_INVALID_INPUT,
              "request: /session: the session was begun with another %s", what);
    error_set_hint(error, "begin another session with \"session\": \"" SESSION_NEW "\"");
    return false;
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

/* Its sandbox ends; the entry stays until its owner has heard of it. The call that has taken it
 * still needs the redaction. */
static void end_sandbox(struct session *session, enum session_loss loss)
{
    if (session->loss != SESSION_LOSS_NONE)
        return;
    session->loss = loss;
    session_run_close(&session->run);
    admission_release_memory(session->kept_memory_bytes);
    if (!session->is_taken)
        forget_secrets(session);
}

/* Between two cells: of a session that no call has taken, or that waits for its call's cell. */
static void notice_end(struct session *session)
{
    struct run_event end;
    if (session->loss != SESSION_LOSS_NONE || !session_run_has_ended(&session->run, &end))
        return;
    /* Between two cells nobody but its backend's clock cancels it. */
    enum session_loss loss = session_loss_of((enum run_cause)end.cause);
    end_sandbox(session, loss == SESSION_LOSS_CANCELLED ? SESSION_LOSS_EXPIRED : loss);
}

static void look_after(struct session *session)
{
    if (!session->is_taken)
        notice_end(session);
}

static uint64_t count_of(const char *principal, bool every)
{
    uint64_t count = 0;
    for (const struct session *session = sessions; session; session = session->next)
        count += session->loss == SESSION_LOSS_NONE &&
                 (every || same_text(session->principal, principal));
    return count;
}

/* The idle one that was used least recently: of the principal, or, with every, of the principal
 * that has most. */
static struct session *find_victim(const char *principal, bool every)
{
    struct session *victim = NULL;
    uint64_t most = 0;
    for (struct session *session = sessions; session; session = session->next) {
        if (session->is_taken || session->loss != SESSION_LOSS_NONE ||
            (!every && !same_text(session->principal, principal)))
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
        end_sandbox(victim, SESSION_LOSS_EVICTED);
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
            free_session(session);
        } else {
            link = &session->next;
        }
    }
}

static struct session *find(const char *id, const char *principal)
{
    for (struct session *session = sessions; session; session = session->next)
        if (strcmp(session->id, id) == 0)
            return same_text(session->principal, principal) ? session : NULL;
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
    free_session(session);
}

struct session *session_take(const char *id, const struct session_terms *terms, struct error *error)
{
    HOLD_LOCK(sessions_mutex);
    struct session *session = find(id, terms->principal);
    if (!session) {
        error_set(error, ERROR_SESSION_NOT_FOUND, "there is no session %s", id);
        return NULL;
    }
    if (session->is_taken) {
        error_set(error, ERROR_SESSION_BUSY, "the session %s executes another cell", id);
        error->retry_after_ms = RETRY_AFTER_MS;
        return NULL;
    }
    look_after(session);
    if (session->loss == SESSION_LOSS_NONE &&
        (strcmp(session->policy_sha256, terms->policy_sha256) != 0 ||
         session->run.mode != terms->mode))
        end_sandbox(session, SESSION_LOSS_POLICY_CHANGED);
    if (session->loss == SESSION_LOSS_NONE && session->cell_count >= terms->max_cells)
        end_sandbox(session, SESSION_LOSS_EXPIRED);
    if (session->loss != SESSION_LOSS_NONE) {
        report_loss(session, error);
        return NULL;
    }
    if (!session_fits(session, terms, error))
        return NULL;
    session->is_taken = true;
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

static bool make_id(char ret[SESSION_ID_LENGTH + 1])
{
    unsigned char bytes[(SESSION_ID_LENGTH - 2) / 2];
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return false;
    ret[0] = 's';
    ret[1] = '_';
    hex_text(bytes, sizeof(bytes), &ret[2]);
    return true;
}

static bool copy_text(const char *text, char **ret)
{
    *ret = text ? strdup(text) : NULL;
    return !text || *ret;
}

/* NULL: no memory. */
static struct session *new_session(const struct session_terms *terms)
{
    struct session *session = calloc(1, sizeof(*session));
    if (!session)
        return NULL;
    session->run = (struct session_run)SESSION_RUN_EMPTY;
    session->network = terms->network;
    session->limits = *terms->limits;
    session->is_taken = true;
    session->taken_by = terms->call;
    session->cells = json_array();
    (void)snprintf(session->policy_sha256, sizeof(session->policy_sha256), "%s",
                   terms->policy_sha256);
    if (copy_text(terms->principal, &session->principal) &&
        append_language(session, terms->language) &&
        copy_text(terms->workspace, &session->workspace) && session->cells && make_id(session->id))
        return session;
    free_session(session);
    return NULL;
}

struct session *session_add(const struct session_terms *terms, struct admission *admission,
                            struct error *error)
{
    struct session *session = new_session(terms);
    if (!session) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the session");
        return NULL;
    }
    HOLD_LOCK(sessions_mutex);
    for (struct session *other = sessions; other; other = other->next)
        look_after(other);
    forget_old_losses();
    if (!make_room(terms->principal, false, terms->max_per_principal, error) ||
        !make_room(NULL, true, terms->max_total, error)) {
        free_session(session);
        return NULL;
    }
    session->next = sessions;
    sessions = session;
    session->kept_memory_bytes = admission_keep_memory(admission);
    return session;
}

/* At the end of a cell, so that its result says so. */
void session_end_as_wanted(struct session *session)
{
    HOLD_LOCK(sessions_mutex);
    if (session->is_to_end)
        end_sandbox(session, SESSION_LOSS_ENDED_BY_OPERATOR);
}

void session_keep_secrets(struct session *session, json_t *names, struct redaction *redaction)
{
    session->secrets = names;
    session->redaction = redaction;
}

void session_lose(struct session *session, enum session_loss loss)
{
    HOLD_LOCK(sessions_mutex);
    end_sandbox(session, loss);
}

void session_give_back(struct session *session)
{
    if (!session)
        return;
    HOLD_LOCK(sessions_mutex);
    session->is_taken = false;
    session->taken_by = NULL;
    session->used_ms = monotonic_ms();
    if (session->loss == SESSION_LOSS_NONE) {
        if (session->is_to_end) /* its owner has not heard of it yet */
            end_sandbox(session, SESSION_LOSS_ENDED_BY_OPERATOR);
        return;
    }
    unlink_session(session);
    free_session(session);
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
        if (session->is_taken) { /* its call ends it */
            link = &session->next;
            continue;
        }
        end_sandbox(session, SESSION_LOSS_CRASHED);
        *link = session->next;
        free_session(session);
    }
}

void session_after_fork(void)
{
    sessions_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (struct session *session = sessions; session; session = session->next) {
        /* Closing its copies of the parent's descriptors ends nothing; a shutdown would. */
        close_fd(TAKE_FD(session->run.backend.events));
        for (size_t i = 0; i < COUNT_OF(session->run.cells); i++)
            close_fd(TAKE_FD(session->run.cells[i]));
        close_fd(TAKE_FD(session->run.backend.stdout_fd));
        close_fd(TAKE_FD(session->run.backend.stderr_fd));
    }
    while (sessions) {
        struct session *session = sessions;
        sessions = session->next;
        free_session(session);
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
                     (json_int_t)session->kept_memory_bytes);
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
    else
        end_sandbox(session, SESSION_LOSS_ENDED_BY_OPERATOR);
    return true;
}
