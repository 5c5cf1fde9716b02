/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of the result's "session", and the source of each. Runs in the gateway, on the thread
 * inside tool_invoke().
 */
#include <string.h>

#include "call/call.h"
#include "result/result.h"
#include "result/result_member.h"

static const struct session *session_of(const struct result *result)
{
    return result->call->session;
}

static const char *id(const struct result *result)
{
    return session_of(result)->id;
}

static bool is_lost(const struct result *result)
{
    return session_of(result)->loss != SESSION_LOSS_NONE;
}

static const char *state_at(size_t index)
{
    static const char *const states[] = {"kept", "lost", "ended", "restored"};
    return index < COUNT_OF(states) ? states[index] : NULL;
}

static const char *state(const struct result *result)
{
    if (session_of(result)->loss == SESSION_LOSS_ENDED)
        return "ended";
    if (!is_lost(result) && result->call->session_state == SESSION_RESTORED)
        return "restored";
    return state_at(is_lost(result));
}

static const char *checkpoint_at(size_t index)
{
    return index < CHECKPOINT_WORD_COUNT ? checkpoint_word_name((enum checkpoint_word)index) : NULL;
}

static const char *checkpoint(const struct result *result)
{
    const struct call *call = result->call;
    if (call->executed && call->session->secrets &&
        call->configuration.policy->sessions.checkpoints > 0)
        return checkpoint_word_name(CHECKPOINT_SECRETS);
    if (call->executed && call->description.preparation.runner == RUN_INTERPRETER_NODE &&
        call->configuration.policy->sessions.checkpoints > 0)
        return checkpoint_word_name(CHECKPOINT_THREADS);
    if (call->executed && call->description.preparation.runner == RUN_INTERPRETER_PYTHON &&
        session_program_of(call->session, call->language->name) > 0 &&
        call->configuration.policy->sessions.checkpoints > 0)
        return checkpoint_word_name(CHECKPOINT_PROCESSES);
    return checkpoint_at(call->word.checkpoint);
}

static int64_t undoable(const struct result *result)
{
    return (int64_t)(is_lost(result) ? 0 : session_of(result)->undoable);
}

static const char *loss_at(size_t index)
{
    /* The first one is none. */
    return index + 1 < SESSION_LOSS_COUNT ? session_loss_name((enum session_loss)(index + 1))
                                          : NULL;
}

static const char *lost_reason(const struct result *result)
{
    return is_lost(result) ? session_loss_name(session_of(result)->loss) : NULL;
}

static bool created(const struct result *result)
{
    const char *action = result->call->request.session_action;
    return strcmp(result->call->request.session, SESSION_NEW) == 0 ||
           (action && strcmp(action, REQUEST_SESSION_FORK) == 0 &&
            strcmp(result->call->request.session, session_of(result)->id) != 0);
}

static const char *forked_from(const struct result *result)
{
    const char *other = session_of(result)->forked_from;
    return other[0] ? other : NULL;
}

static int64_t cells(const struct result *result)
{
    return (int64_t)session_of(result)->cell_count;
}

static int64_t idle_ms(const struct result *result)
{
    return (int64_t)result->call->configuration.policy->sessions.idle_ms;
}

/* A cell that was undone, or that there was none of, has not said them: those of the cell before it
 * are there. */
static void write_defined(struct json_draft *draft, const char *name, const struct result *result)
{
    json_t *defined = result->call->results.defined;
    if (defined)
        json_draft_value(draft, name, json_incref(defined));
    else if (is_lost(result))
        json_draft_value(draft, name, json_array());
    else
        json_draft_value(draft, name,
                         session_defined(session_of(result), result->call->language->name));
}

static void write_languages(struct json_draft *draft, const char *name, const struct result *result)
{
    const struct session *session = session_of(result);
    json_t *languages = json_array();
    for (uint32_t i = 0; i < session->language_count; i++)
        (void)json_array_append_new(languages, json_string(session->languages[i]));
    json_draft_value(draft, name, languages);
}

static void write_late(struct json_draft *draft, const char *name,
                       const struct output_capture *late)
{
    size_t length = 0;
    bool replaced = false;
    CLEANUP_FREE char *text = output_capture_text(late, &length, &replaced);
    if (text)
        json_draft_bytes(draft, name, text, length);
    else
        json_draft_value(draft, name, NULL);
}

static void write_late_output(struct json_draft *draft, const char *name,
                              const struct result *result)
{
    write_late(draft, name, &result->call->late[0].capture);
}

static void write_late_errors(struct json_draft *draft, const char *name,
                              const struct result *result)
{
    write_late(draft, name, &result->call->late[1].capture);
}

const struct result_member session_members[] = {
    {.name = "id",
     .type = RESULT_STRING,
     .description = "the request's session for the next cell",
     .string = id},
    {.name = "state",
     .type = RESULT_STRING,
     .value_at = state_at,
     .description =
         "kept: the next cell finds what this one has left; restored: it finds what this one has "
         "found; lost or ended: there is no next one",
     .string = state},
    {.name = "lost_reason",
     .type = RESULT_STRING,
     .nullable = true,
     .value_at = loss_at,
     .description = "why it is lost",
     .string = lost_reason},
    {.name = "created",
     .type = RESULT_BOOLEAN,
     .description = "this call has begun it",
     .boolean = created},
    {.name = "forked_from",
     .type = RESULT_STRING,
     .nullable = true,
     .description = "the session that it was a copy of when it began",
     .string = forked_from},
    {.name = "cells",
     .type = RESULT_INTEGER,
     .description = "how many it has executed",
     .integer = cells},
    {.name = "languages",
     .type = RESULT_STRINGS,
     .description = "those that have an interpreter in it, in the order of their start",
     .write = write_languages},
    {.name = "defined",
     .type = RESULT_STRINGS,
     .description =
         "names that cells of this language have defined, as its interpreter says itself",
     .write = write_defined},
    {.name = "checkpoint",
     .type = RESULT_STRING,
     .nullable = true,
     .value_at = checkpoint_at,
     .description = "taken: there is one of before this cell; else why there is none",
     .string = checkpoint},
    {.name = "undoable",
     .type = RESULT_INTEGER,
     .description = "how many of the last cells can be undone",
     .integer = undoable},
    {.name = "idle_ms",
     .type = RESULT_INTEGER,
     .description = "without a cell it ends after this time",
     .integer = idle_ms},
    {.name = "late_stdout",
     .type = RESULT_STRING,
     .description = "standard output that came after the end of the cell before",
     .write = write_late_output},
    {.name = "late_stderr",
     .type = RESULT_STRING,
     .description = "standard error, likewise",
     .write = write_late_errors},
    {.name = NULL},
};
