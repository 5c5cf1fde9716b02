/* SPDX-License-Identifier: Apache-2.0 */
/* Undo, fork and the turns of branches: see cell_action.h. Runs in the gateway, on the thread
 * inside tool_invoke(). */
#include "gate/cell_action.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/deadline.h"

#define RETRY_AFTER_MS 1000 /* as of a session that executes another cell */

struct session_terms cell_terms(const struct call *call)
{
    const struct policy *policy = call->configuration.policy;
    return (struct session_terms){
        .call = &call->registration,
        .principal = call->context.principal,
        .policy_sha256 = policy->base_sha256,
        .language = call->language->name,
        .workspace = call->context.workspace,
        .image = call->description.image.name,
        .asks_image = call->request.image != NULL,
        .packages = &call->packages,
        .asks_packages = call->request.packages != NULL,
        .mode = call->configuration.mode,
        .network = call->request.network,
        .limits = &call->description.limits,
        .asks_memory = call->request.memory_bytes > 0,
        .max_total = policy->sessions.max_total,
        .max_per_principal = policy->sessions.max_per_principal,
        .max_cells = policy->sessions.max_cells,
    };
}

bool cell_is_first(const struct call *call)
{
    return strcmp(call->request.session, SESSION_NEW) == 0;
}

bool cell_refuse(struct error *error, const char *why)
{
    error_set(error, ERROR_NOT_SUPPORTED, "request: /session: %s", why);
    return false;
}

bool cell_has_action(const struct call *call, const char *action)
{
    return call->request.session_action && strcmp(call->request.session_action, action) == 0;
}

uint32_t cell_program(const struct call *call)
{
    return session_program_of(call->session, call->language->name);
}

static uint64_t cells_to_undo(const struct call *call)
{
    return call->request.count > 0 ? call->request.count : 1;
}

bool cell_action_is_sound(const struct call *call, struct error *error)
{
    if (call->request.count > 0 && !cell_has_action(call, REQUEST_SESSION_UNDO)) {
        error_set(error, ERROR_INVALID_INPUT,
                  "request: /count: needs \"session_action\": \"undo\"");
        return false;
    }
    if (!call->request.session && call->request.session_action) {
        error_set(error, ERROR_INVALID_INPUT, "request: /session_action: there is no session");
        return false;
    }
    bool is_first = call->request.session && cell_is_first(call);
    if (is_first && cell_has_action(call, REQUEST_SESSION_UNDO)) {
        error_set(error, ERROR_INVALID_INPUT,
                  "request: /session_action: a new session has no cell to undo");
        return false;
    }
    if (is_first && cell_has_action(call, REQUEST_SESSION_FORK)) {
        error_set(error, ERROR_INVALID_INPUT,
                  "request: /session_action: a new session has nothing to copy");
        return false;
    }
    return true;
}

static bool can_be_undone(const struct call *call, struct error *error)
{
    if (!policy_mode_row(call->configuration.policy, call->configuration.mode)->keeps_checkpoints)
        return cell_refuse(error,
                           "this sandbox mode keeps no checkpoints, so no cell can be undone");
    if (call->description.preparation.runner != RUN_INTERPRETER_PYTHON)
        return cell_refuse(error, "only cells of Python can be undone");
    uint64_t undoable = call->session->undoable;
    if (undoable >= cells_to_undo(call))
        return true;
    if (undoable == 0) {
        error_set(error, ERROR_CHECKPOINT_UNAVAILABLE,
                  "the session has no checkpoint of before its last cell");
        return false;
    }
    error_set(error, ERROR_CHECKPOINT_UNAVAILABLE,
              "request: /count: of the last cells %" PRIu64 " can be undone, not %" PRIu64,
              undoable, cells_to_undo(call));
    error_set_hint(error, "undo at most %" PRIu64, undoable);
    return false;
}

static bool refuse_fork(struct error *error, const char *why)
{
    error_set(error, ERROR_CHECKPOINT_UNAVAILABLE, "the session cannot be forked: %s", why);
    error_set_hint(error, "repeat what is needed in a new session, or end what keeps this one from "
                          "being copied");
    return false;
}

static bool can_be_forked(const struct call *call, struct error *error)
{
    const struct session *session = call->session;
    if (!policy_mode_row(call->configuration.policy, call->configuration.mode)->keeps_checkpoints)
        return cell_refuse(error,
                           "this sandbox mode keeps no checkpoints, so no session can be forked");
    if (call->description.preparation.runner != RUN_INTERPRETER_PYTHON)
        return cell_refuse(error, "only sessions of Python can be forked");
    if (call->configuration.policy->sessions.checkpoints == 0)
        return refuse_fork(error, "the policy keeps no checkpoints");
    if (session->secrets)
        return refuse_fork(error, "it has secrets");
    if (session->language_count > 1 || cell_program(call) > 0)
        return refuse_fork(error, "it has an interpreter of another language");
    if (__builtin_popcount(session->sandbox->branches) == SESSION_BRANCHES_MOST) {
        (void)refuse_fork(error, "there are eight of it in its sandbox already");
        error_set_hint(error, "end one of them");
        return false;
    }
    return true;
}
static_assert(SESSION_BRANCHES_MOST == 8, "the message above");

/* The start of another interpreter would end the branches that sleep. */
static bool has_room_for_language(const struct call *call, struct error *error)
{
    if (session_neighbours(call->session) == 0 ||
        cell_program(call) < call->session->language_count)
        return true;
    (void)cell_refuse(error, "a session that shares its sandbox with another one, by fork, has one "
                             "language");
    error_set_hint(error, "begin another session in that language with \"session\": "
                          "\"" SESSION_NEW "\", or end the other sessions that were forked");
    return false;
}

bool cell_action_is_possible(const struct call *call, struct error *error)
{
    if (cell_has_action(call, REQUEST_SESSION_UNDO))
        return can_be_undone(call, error);
    if (cell_has_action(call, REQUEST_SESSION_FORK))
        return can_be_forked(call, error);
    return has_room_for_language(call, error);
}

/* The sandbox has lost count, or its backend. */
static bool lose_all(struct call *call)
{
    session_lose(call->session, SESSION_LOSS_CRASHED);
    return false;
}

static bool refuse_turn(enum checkpoint_word word, struct error *error)
{
    error_set(error, ERROR_SESSION_BUSY,
              "another session, by fork, has this one's sandbox and cannot be put aside: %s",
              checkpoint_word_name(word));
    error->retry_after_ms = RETRY_AFTER_MS;
    error_set_hint(error, "end what its last cell has left there (threads, processes, open files), "
                          "or end that session");
    return false;
}

/* Its copy was killed, by a program of the same sandbox. */
static bool lose_alone(struct call *call, struct error *error)
{
    session_lose_alone(call->session, SESSION_LOSS_CRASHED);
    error_set(error, ERROR_SESSION_LOST, "the session %s is lost: %s", call->session->id,
              session_loss_name(SESSION_LOSS_CRASHED));
    return false;
}

static bool wake(struct call *call, struct error *error)
{
    struct session_sandbox *sandbox = call->session->sandbox;
    enum checkpoint_word word;
    bool is_awake;
    if (sandbox->awake == call->session->branch)
        return true;
    if (sandbox->awake != SESSION_BRANCH_AWAKE) {
        if (!session_run_park(&sandbox->run, sandbox->awake, &word, error))
            return lose_all(call);
        if (word != CHECKPOINT_TAKEN)
            return refuse_turn(word, error);
        sandbox->awake = SESSION_BRANCH_AWAKE; /* what runs is nobody's */
    }
    if (!session_run_wake(&sandbox->run, call->session->branch, &is_awake, error))
        return lose_all(call);
    if (!is_awake) {
        session_run_drop(&sandbox->run, SESSION_BRANCH_AWAKE);
        return lose_alone(call, error);
    }
    sandbox->awake = call->session->branch;
    return true;
}

static bool undo(struct call *call, struct error *error)
{
    if (session_run_undo(&call->session->sandbox->run, cells_to_undo(call), error)) {
        for (uint64_t i = 0; i < cells_to_undo(call); i++)
            session_note_undone(call->session);
        return true;
    }
    if (error->code != ERROR_CHECKPOINT_UNAVAILABLE)
        session_lose(call->session, SESSION_LOSS_CRASHED);
    else
        call->session->undoable = 0;
    return false;
}

/* Where the new session cannot be, the one that was put to sleep for it sleeps until its next call.
 */
static bool fork_session(struct call *call, struct error *error)
{
    struct session_sandbox *sandbox = call->session->sandbox;
    const struct session_terms terms = cell_terms(call);
    enum checkpoint_word word;
    if (!session_run_park(&sandbox->run, call->session->branch, &word, error))
        return lose_all(call);
    if (word != CHECKPOINT_TAKEN)
        return refuse_fork(error, checkpoint_word_name(word));
    sandbox->awake = SESSION_BRANCH_AWAKE;
    struct session *branch = session_fork(call->session, &terms, error);
    if (branch)
        call->session = branch;
    else
        session_run_drop(&sandbox->run, SESSION_BRANCH_AWAKE);
    return branch;
}

bool cell_action_perform(struct call *call, struct error *error)
{
    if (!wake(call, error))
        return false;
    if (cell_has_action(call, REQUEST_SESSION_UNDO))
        return undo(call, error);
    return !cell_has_action(call, REQUEST_SESSION_FORK) || fork_session(call, error);
}

bool cell_action_is_all(const struct call *call)
{
    size_t blank = 0;
    while (blank < call->request.code_length && strchr(" \t\r\n", call->request.code[blank]))
        blank++;
    bool acts =
        cell_has_action(call, REQUEST_SESSION_UNDO) || cell_has_action(call, REQUEST_SESSION_FORK);
    return acts && blank == call->request.code_length;
}

void cell_action_note(struct call *call, uint64_t begin_ms)
{
    call->outcome.duration_ms = monotonic_ms() - begin_ms;
    call->outcome.ended = call->session->sandbox->run.started;
    call->outcome.ended.type = RUN_EVENT_ENDED;
    call->outcome.ended.cause = RUN_CAUSE_EXIT;
    call->outcome.ended.exit_code = 0;
    call->outcome.started = true;
    if (cell_has_action(call, REQUEST_SESSION_FORK)) {
        call_note(call, "the session %s is a copy of %s, and no code was executed",
                  call->session->id, call->session->forked_from);
        return;
    }
    if (cells_to_undo(call) == 1)
        call_note(call, "the last cell is undone, and no code was executed");
    else
        call_note(call, "the last %" PRIu64 " cells are undone, and no code was executed",
                  cells_to_undo(call));
}
