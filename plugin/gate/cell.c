/* SPDX-License-Identifier: Apache-2.0 */
/* Cells: see cell.h. Runs in the gateway, on the thread inside tool_invoke(). */
#include "gate/cell.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "call/capability_check.h"
#include "gate/cell_action.h"
#include "gate/cells_grant.h"
#include "gate/choice/package_plan.h"
#include "gate/endpoint_delivery.h"
#include "run/describe.h"

#define LATE_LIMIT 16384 /* bytes of each stream */

/* It is the operator that chooses the mode. */
static bool refuse_mode(struct error *error, enum sandbox_mode mode)
{
    const struct sandbox_mode_row *row = NULL;
    error_set(error, ERROR_NOT_SUPPORTED,
              "request: /session: mode %s has no sessions; every run is fresh",
              sandbox_mode_name(mode));
    for (size_t i = 0; i < SANDBOX_MODE_COUNT && !row; i++)
        if (sandbox_mode_row((enum sandbox_mode)i)->session_runners)
            row = sandbox_mode_row((enum sandbox_mode)i);
    if (row)
        error_set_hint(error, "leave session out; an operator can choose mode %s, which has them",
                       row->name);
    return false;
}

/* A shell's runner comes with the session, any other with the policy's command. */
static bool has_runner(const struct call *call)
{
    uint32_t runner = call->description.preparation.runner;
    uint32_t wanted = call->request.language->runner;
    return runner == (wanted == RUN_RUNNER_SHELL ? RUN_INTERPRETER_NONE : wanted);
}

static bool can_be_cell(const struct call *call, struct error *error)
{
    if (call->configuration.policy->sessions.max_total == 0)
        return cell_refuse(error, "the policy keeps no sessions; every run is fresh");
    uint32_t runners = sandbox_mode_row(call->configuration.mode)->session_runners;
    if (runners == 0)
        return refuse_mode(error, call->configuration.mode);
    if (call->request.language->runner == RUN_INTERPRETER_NONE)
        return cell_refuse(error,
                           "this language has no sessions; Python, JavaScript, sh and bash have");
    if (!(runners & SANDBOX_MODE_RUNNER(call->request.language->runner)))
        return refuse_mode(error, call->configuration.mode);
    if (!has_runner(call))
        return cell_refuse(error, "the policy's command of this language keeps no sessions");
    if (call->request.secret_count > 0 && !cell_is_first(call)) {
        (void)cell_refuse(error, "a session gets its secrets with its first cell");
        error_set_hint(error, "leave secrets out, or begin another session with \"session\": "
                              "\"" SESSION_NEW "\"");
        return false;
    }
    return true;
}

/* An approver's edit may name another session, or none. */
static void drop_other_session(struct call *call)
{
    const char *wanted = call->request.session;
    if (!call->session || (wanted && strcmp(call->session->id, wanted) == 0))
        return;
    session_give_back(call->session);
    call->session = NULL;
}

/* A gateway may leave this caller less than the one that has begun the session. */
static bool may_have(const struct call *call, const struct run_limits *limits, struct error *error)
{
    size_t count;
    struct run_limits of_session = *limits;
    const struct policy_limit_row *rows = policy_limit_rows(&count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].place != POLICY_LIMIT_OF_RUN ||
            *describe_limit(&of_session, &rows[i]) <=
                policy_limit_at(&call->limits, &rows[i])->maximum)
            continue;
        error_set(error, ERROR_LIMIT_TOO_HIGH,
                  "request: /session: the session has more %s than this caller may have",
                  rows[i].name);
        return false;
    }
    return true;
}

/* Every language of a session is in the sandbox of the first one. */
static bool take_image(struct call *call, struct error *error)
{
    struct run_image *image = &call->description.image;
    const char *of_session = call->session->image;
    if (!of_session || strcmp(image->name, of_session) == 0)
        return true;
    free(image->name);
    image->name = strdup(of_session);
    if (!image->name)
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the image's name");
    return image->name;
}

/* Its interpreters have the packages of the first one. */
static bool take_packages(struct call *call, struct error *error)
{
    if (package_plan_of_session(call))
        return true;
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the session's packages");
    return false;
}

/* Takes it, or checks once more that it fits: an approver's edit may be to another shape of cell.
 */
static bool join_session(struct call *call, struct error *error)
{
    struct run_limits *limits = &call->description.limits;
    const struct session_terms terms = cell_terms(call);
    if (!call->session)
        call->session = session_take(call->request.session, &terms, error);
    else if (!session_fits(call->session, &terms, error))
        return false;
    if (!call->session || !take_image(call, error) || !take_packages(call, error))
        return false;
    /* What is asked about, counted and told is what its processes have. */
    const struct run_limits of_cell = *limits;
    *limits = call->session->limits;
    limits->wall_ms = of_cell.wall_ms;
    limits->cpu_ms = of_cell.cpu_ms;
    return may_have(call, limits, error) && cell_action_is_possible(call, error);
}

/* Who may not use sessions hears nothing of them, and ends none: the capability's check comes
 * later. A question about a policy takes none either. */
static bool may_join(const struct call *call)
{
    return call->host_mistake == HOST_SOUND && capability_is_granted(call, CAPABILITY_SESSION);
}

/* Only Python can be copied, where it is the session's first interpreter. A copy that has secrets
 * would be one more place that has them. */
static uint64_t checkpoints_of(const struct call *call)
{
    bool has_secrets = call->request.secret_count > 0 || (call->session && call->session->secrets);
    bool is_first = !call->session || cell_program(call) == 0;
    bool can_be_copied =
        is_first &&
        policy_mode_row(call->configuration.policy, call->configuration.mode)->keeps_checkpoints &&
        call->description.preparation.runner == RUN_INTERPRETER_PYTHON;
    return can_be_copied && !has_secrets ? call->configuration.policy->sessions.checkpoints : 0;
}

bool cell_plan(struct call *call, struct error *error)
{
    const struct sandbox_mode_row *row =
        policy_mode_row(call->configuration.policy, call->configuration.mode);
    drop_other_session(call);
    if (!cell_action_is_sound(call, error))
        return false;
    if (!call->request.session)
        return true;
    if (!can_be_cell(call, error))
        return false;
    call->description.preparation.runner = call->request.language->runner;
    if (call->description.preparation.runner == RUN_RUNNER_SHELL)
        call->description.required |=
            LAYER_BIT(LAYER_PROC) & row->possible_layers; /* by which it opens its streams */
    call->description.results = 1;
    call->description.session =
        (struct run_session){.idle_ms = call->configuration.policy->sessions.idle_ms,
                             .age_ms = call->configuration.policy->sessions.age_ms};
    if (!cell_is_first(call) && may_join(call) && !join_session(call, error))
        return false;
    call->description.session.checkpoints = checkpoints_of(call);
    return true;
}

static json_t *secrets_to_keep(const struct call *call)
{
    return call->redaction ? request_secret_names(&call->request) : NULL;
}

static bool lacks_proc(const struct call *call, const struct run_event *failed)
{
    return call->description.preparation.runner == RUN_RUNNER_SHELL &&
           failed->failure == RUN_FAILURE_LAYER && failed->failed_layer == LAYER_PROC;
}

static bool begin_session(struct call *call, struct error *error)
{
    const struct session_terms terms = cell_terms(call);
    struct run_event failed;
    if (!cell_is_first(call)) { /* a host that has changed its mind about the capability */
        error_set(error, ERROR_ACCESS_DENIED, "access denied: sandbox.exec.session");
        return false;
    }
    json_auto_t *secrets = secrets_to_keep(call);
    if (call->redaction && !secrets) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the session");
        return false;
    }
    struct session *session = session_add(&terms, &call->admission, error);
    if (!session)
        return false;
    if (!session_keep_tools(session, call->request.tools) ||
        !session_keep_endpoints(session, call->request.endpoints)) {
        session_lose(session, SESSION_LOSS_CRASHED);
        session_give_back(session);
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the session");
        return false;
    }
    session->sandbox->broker_run = call->broker_run;
    call->broker_run = (struct broker_run)BROKER_RUN_NONE;
    bool is_there = session_run_start(
        call->configuration.mode, &call->description, session->sandbox->broker_run.intake,
        call->registration.cancel_fd, &session->sandbox->run, &failed, error);
    close_fd(TAKE_FD(session->sandbox->broker_run.intake));
    if (is_there) {
        session_keep_secrets(session, TAKE_POINTER(secrets), call->redaction);
        call->session = session;
        return true;
    }
    session_lose(session, SESSION_LOSS_CRASHED);
    session_give_back(session);
    if (lacks_proc(call, &failed))
        return cell_refuse(error, "a session of a shell needs a /proc, and this sandbox has none");
    call->outcome.ended = failed; /* whose failure the gate explains */
    return failed.failure != RUN_FAILURE_NONE;
}

/* The first cell of a further language. false with error: it is lost, or cannot be had. true where
 * its interpreter could not start, and outcome says why. */
static bool add_language(struct call *call, bool *ret_there, struct error *error)
{
    struct session *session = call->session;
    struct run_event failed;
    *ret_there = cell_program(call) < session->language_count;
    if (*ret_there)
        return true;
    if (session->language_count == SESSION_PROGRAMS_MOST)
        return cell_refuse(error, "the session has interpreters of four languages already");
    if (session_run_add(&session->sandbox->run, session->language_count, &call->description,
                        &failed, error)) {
        *ret_there = session_add_language(session, call->language->name);
        session->undoable = 0;
        if (!*ret_there)
            session_lose(session, SESSION_LOSS_CRASHED);
        return *ret_there;
    }
    if (failed.failure == RUN_FAILURE_NONE || failed.type == RUN_EVENT_ENDED) {
        session_lose(session, failed.type == RUN_EVENT_ENDED
                                  ? session_loss_of((enum run_cause)failed.cause)
                                  : SESSION_LOSS_CRASHED);
        return false;
    }
    if (lacks_proc(call, &failed))
        return cell_refuse(error, "a session of a shell needs a /proc, and this sandbox has none");
    call->outcome.ended = failed;
    return true;
}

/* How many checkpoints it has at most, where there is one ahead of this cell. */
static uint64_t most_undoable(const struct call *call)
{
    return checkpoint_word_is_taken(call->word.checkpoint)
               ? call->configuration.policy->sessions.checkpoints
               : 0;
}

static void note_begun(struct call *call)
{
    call_note(call, "for the next cell, \"session\" is \"%s\"", call->session->id);
    if (cell_has_action(call, REQUEST_SESSION_FORK))
        call_note(call, "the session %s is as it was", call->session->forked_from);
    if (call->session->secrets)
        call_note(call, "every cell of the session can read its secrets, until it ends");
    if (call->session->tools)
        call_note(call, "further cells have the same tools, unless their \"tools\" says otherwise");
}

static void note_cell(struct call *call)
{
    const struct run_event *ended = &call->outcome.ended;
    if (call->session_state == SESSION_RESTORED && !checkpoint_word_is_taken(call->word.checkpoint))
        call->word.checkpoint = CHECKPOINT_TAKEN; /* whatever the interpreter has said */
    session_note_cell(call->session, call->language->name, call->request_sha256, call->request.code,
                      call->request.code_length, ended->exit_code, call->results.defined,
                      most_undoable(call));
    if (call->session_state == SESSION_RESTORED && call->session->loss == SESSION_LOSS_NONE) {
        session_note_undone(call->session);
        call_note(call,
                  "the cell ended the interpreter (%s): variables and files are as they were "
                  "before this cell",
                  session_loss_name(session_loss_of((enum run_cause)ended->cause)));
    }
    if (call->session_state == SESSION_GONE || call->session->loss != SESSION_LOSS_NONE) {
        session_lose(call->session, session_loss_of((enum run_cause)ended->cause));
        call_note(call, "the session ended with this cell (%s): its variables and files are gone",
                  session_loss_name(call->session->loss));
        return;
    }
    if (call->session_state == SESSION_KEPT && ended->cause != RUN_CAUSE_EXIT)
        call_note(call, "the cell was interrupted; the session keeps its state");
    if (cell_has_action(call, REQUEST_SESSION_END))
        session_lose_alone(call->session, SESSION_LOSS_ENDED);
    else if (cell_is_first(call) || cell_has_action(call, REQUEST_SESSION_FORK))
        note_begun(call);
}

static void init_late(struct run_stream *late, const struct redaction *redaction)
{
    *late = (struct run_stream){.redaction = {.redaction = redaction}};
    output_capture_init(&late->capture, LATE_LIMIT);
}

bool cell_execute(struct call *call, struct error *error)
{
    uint64_t begin_ms = monotonic_ms();
    if (call->session ? !session_still_lives(call->session, error) : !begin_session(call, error))
        return false;
    if (!call->session) /* it could not start, and outcome says why */
        return true;
    if (!cell_action_perform(call, error))
        return false;
    bool is_there;
    if (!add_language(call, &is_there, error))
        return false;
    if (!is_there)
        return true;
    cells_grant_keep(call);
    for (size_t i = 0; i < COUNT_OF(call->late); i++)
        init_late(&call->late[i], call->redaction);
    if (cell_action_is_all(call)) {
        cell_action_note(call, begin_ms);
        return true;
    }
    call->results.cell = &call->word;
    if (!endpoints_begin_cell(call, error))
        return false;
    bool ended =
        session_run_cell(&call->session->sandbox->run, cell_program(call), &call->run, &call->word,
                         call->late, &call->outcome, &call->session_state, error);
    endpoints_end_cell(call);
    if (!ended)
        call->outcome.ended.cause = RUN_CAUSE_INFRASTRUCTURE;
    note_cell(call);
    return ended;
}

bool cell_leaves_nothing(const struct call *call)
{
    return call->request.session &&
           (call->session_state == SESSION_RESTORED || cell_action_is_all(call));
}

uint64_t cell_memory_bytes(const struct call *call)
{
    return call->session ? 0 : call->description.limits.memory_bytes;
}

bool cell_has_history(const struct call *call)
{
    return call->session && call->session->cell_count > 0;
}

static void write_cells(struct json_draft *draft, const struct call *call)
{
    bool has = cell_has_history(call);
    if (has)
        session_write_cells(call->session, "cells", draft);
    else
        json_draft_value(draft, "cells", json_array());
    json_draft_integer(draft, "count", has ? (int64_t)call->session->cell_count : 0);
}

/* Of a session that is still to begin, those of the request: it keeps them. NULL when out of
 * memory, which fails the draft. */
static json_t *secrets_of(const struct call *call)
{
    if (cell_is_first(call))
        return request_secret_names(&call->request);
    return call->session && call->session->secrets ? json_incref(call->session->secrets)
                                                   : json_object();
}

void cell_write_history(struct json_draft *draft, const char *name, const struct call *call,
                        bool shown)
{
    if (!call->request.session)
        return;
    json_draft_open(draft, name, '{');
    if (shown)
        write_cells(draft, call);
    json_draft_string(draft, "history_sha256",
                      cell_has_history(call) ? call->session->history_sha256 : NULL);
    json_draft_string(draft, "id", call->request.session);
    json_draft_value(draft, "secrets", secrets_of(call));
    json_draft_integer(draft, "shares_sandbox_with",
                       call->session ? session_neighbours(call->session) : 0);
    json_draft_close(draft, '}');
}
