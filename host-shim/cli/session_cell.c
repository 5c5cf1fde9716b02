/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the calls of a session, and reads what became of it. Main thread. */
#include "cli/session_cell.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/json.h"
#include "base/write_fully.h"
#include "cli/call_input.h"
#include "cli/input_members.h"
#include "cli/run_output.h"
#include "formats/run_outcome.h"

#define LANGUAGE_DEFAULT "python"
#define SESSION_NEW      "new"

/* Both load a provider of their own, which must be gone before ours is opened. */
static bool make_settings(struct session_cells *cells, struct failure *failure)
{
    cells->settings = json_object();
    json_auto_t *files = json_object();
    if (!cells->settings || !files)
        return failure_out_of_memory(failure);
    if (!call_input_add_settings(cells->options, cells->settings, failure) ||
        !input_files_add(cells->options, files, &cells->lent_files, failure))
        return false;
    cells->first_files = json_incref(json_object_get(files, "files"));
    return true;
}

static bool check_members(const struct session_cells *cells, struct failure *failure)
{
    const char *text = cells->tool.provider.manifest();
    json_auto_t *manifest = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (json_object_get(input_members_of(manifest, cells->options->tool), "session"))
        return true;
    (void)failure_set(failure, "not_supported", "the provider's tool %s has no sessions",
                      cells->options->tool);
    return failure_set_hint(failure, "toolhost run begins each program anew");
}

bool session_cells_open(const struct options *options, int out, int signal_fd,
                        struct session_cells *ret, struct failure *failure)
{
    json_auto_t *refusal = NULL;
    ret->options = options;
    ret->language = options->language ? options->language : LANGUAGE_DEFAULT;
    ret->out = out;
    ret->signal_fd = signal_fd;
    ret->sessions = json_array();
    if (!ret->sessions)
        return failure_out_of_memory(failure);
    if (!make_settings(ret, failure) || !open_tool_init(options, &ret->tool, &refusal, failure))
        return false;
    return refusal ? failure_from_json(failure, json_object_get(refusal, "error"))
                   : check_members(ret, failure);
}

void session_cells_clear(struct session_cells *cells)
{
    open_tool_clear(&cells->tool);
    lent_files_clear(&cells->lent_files);
    json_decref(cells->settings);
    json_decref(cells->first_files);
    json_decref(cells->sessions);
}

/* The tool's input as JSON text (new). */
static char *make_input(const struct session_cells *cells, const char *code, size_t length,
                        const char *action, uint64_t count, struct failure *failure)
{
    json_auto_t *input = json_copy(cells->settings);
    const char *session = cells->id[0] ? cells->id : SESSION_NEW;
    if (!call_input_add_text(input, "language", cells->language, strlen(cells->language),
                             failure) ||
        !call_input_add_text(input, "code", code, length, failure))
        return NULL;
    bool whole =
        json_member_add(input, "session", session) &&
        json_member_add(input, "session_action", action) &&
        (count == 0 || json_object_set_new(input, "count", json_integer((json_int_t)count)) == 0) &&
        (cells->id[0] || !cells->first_files ||
         json_object_set(input, "files", cells->first_files) == 0);
    char *text = whole ? json_compact(input) : NULL;
    if (!text)
        (void)failure_out_of_memory(failure);
    return text;
}

static bool is_error(const json_t *result, const char *code)
{
    const json_t *error = json_object_get(result, "error");
    return strcmp(json_member_string(error, "code", ""), code) == 0;
}

static size_t place_of(const struct session_cells *cells)
{
    size_t place = 0;
    while (place < json_array_size(cells->sessions) &&
           strcmp(json_member_string(json_array_get(cells->sessions, place), "id", ""),
                  cells->id) != 0)
        place++;
    return place;
}

const json_t *session_cells_current(const struct session_cells *cells)
{
    return json_array_get(cells->sessions, place_of(cells));
}

static void forget_session(struct session_cells *cells)
{
    (void)json_array_remove(cells->sessions, place_of(cells));
    cells->id[0] = '\0';
}

__attribute__((format(printf, 1, 2))) static void notice(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    console_print_notice(text);
}

void session_cells_use(struct session_cells *cells, const char *id)
{
    notice("this is session %s", id);
    (void)snprintf(cells->id, sizeof(cells->id), "%s", id);
}

static void keep_session(struct session_cells *cells, const json_t *session)
{
    const char *id = json_member_string(session, "id", "");
    if (strcmp(cells->id, id) != 0)
        session_cells_use(cells, id);
    json_auto_t *known =
        json_pack("{s:s, s:I, s:O?}", "id", id, "cells", json_member_integer(session, "cells", 0),
                  "defined", json_object_get(session, "defined"));
    if (json_array_set(cells->sessions, place_of(cells), known) != 0)
        (void)json_array_append(cells->sessions, known);
}

/* A session that is lost is never replaced silently. */
static void lose_session(struct session_cells *cells, const json_t *session)
{
    const char *state = json_member_string(session, "state", "");
    bool is_wanted = strcmp(state, "ended") == 0; /* by :quit, behind which nothing is typed */
    if (!is_wanted)
        notice("the session is lost (%s): the next input begins a new one",
               json_member_string(session, "lost_reason", "?"));
    forget_session(cells);
    if (!is_wanted && json_array_size(cells->sessions) > 0)
        notice(":use goes on in another one");
}

/* Where this call got no session. */
static void take_refusal(struct session_cells *cells, const struct call_result *call)
{
    if (is_error(call->json, "session_lost") || is_error(call->json, "session_not_found")) {
        notice("this input was not executed; the next one begins a new session");
        forget_session(cells);
    }
    cells->is_hopeless =
        !cells->id[0] && !call->ran &&
        (is_error(call->json, "not_supported") || is_error(call->json, "access_denied"));
}

/* There are other words for a session that lives than "kept". */
static bool is_over(const json_t *session)
{
    const char *state = json_member_string(session, "state", "lost");
    return strcmp(state, "lost") == 0 || strcmp(state, "ended") == 0;
}

static void take_session(struct session_cells *cells, const struct call_result *call)
{
    const json_t *session = json_object_get(call->json, "session");
    if (!json_is_object(session))
        take_refusal(cells, call);
    else if (is_over(session))
        lose_session(cells, session);
    else
        keep_session(cells, session);
}

/* What came between the cell before and this one. */
static void print_late(const struct session_cells *cells, const json_t *result)
{
    const json_t *session = json_object_get(result, "session");
    const json_t *out = json_object_get(session, "late_stdout");
    const json_t *err = json_object_get(session, "late_stderr");
    if (json_string_length(out) + json_string_length(err) == 0)
        return;
    notice("late output, of what earlier cells have left running:");
    (void)write_fully(cells->out, json_string_value(out), json_string_length(out));
    (void)write_fully(STDERR_FILENO, json_string_value(err), json_string_length(err));
}

/* Of a cell that ran it is one line: its hint is for a caller that decides what to run next. */
static void print_error(const struct call_result *call)
{
    json_t *error = json_object_get(call->json, "error");
    if (call->ran && json_is_object(error))
        (void)json_object_del(error, "hint");
    run_output_print_error(call->json);
}

/* Notes that say what we say or do ourselves are left out: they have the session's id. */
static void print_notes(const json_t *result)
{
    const char *id = json_member_string(json_object_get(result, "session"), "id", NULL);
    size_t index = 0;
    const json_t *note = NULL;
    json_array_foreach(json_object_get(result, "notes"), index, note)
    {
        const char *text = json_string_value(note);
        if (text && !(id && strstr(text, id)))
            console_print_notice(text);
    }
}

/* An exception has said so itself. */
static void print_exit(const json_t *result)
{
    json_int_t exit_code = json_member_integer(result, "exit_code", 0);
    if (exit_code != 0 && !json_is_object(json_object_get(result, "exception")))
        notice("exit code %lld", (long long)exit_code);
}

/* The prompt begins on a line of its own. */
static void end_line(const struct session_cells *cells, const struct run_output *output)
{
    if (output->last && output->last != '\n' && isatty(cells->out) == 1)
        (void)write_fully(cells->out, "\n", 1);
}

static int exit_status_of(const struct call_result *call)
{
    return !call->ran && call->interrupted ? EXIT_CANCELLED
                                           : run_outcome_exit_status(call->ran, call->json);
}

static void report(struct session_cells *cells, struct run_output *output,
                   const struct call_result *call)
{
    run_output_print_rest(output, call->json);
    (void)run_output_report_made(cells->options, NULL, &cells->tool.grants.artifacts, output,
                                 call->json);
    end_line(cells, output);
    print_late(cells, call->json);
    print_error(call);
    print_notes(call->json);
    print_exit(call->json);
}

void session_cells_execute(struct session_cells *cells, const char *code, size_t length,
                           const char *action, uint64_t count)
{
    struct failure failure;
    struct run_output output = {.out = cells->out};
    struct lent_files none = {0};
    struct call_result call = {0};
    const struct call_listener listener = {run_output_take, run_output_notice, &output};
    CLEANUP_FREE char *text = make_input(cells, code, length, action, count, &failure);
    const struct tool_input input = {text, cells->id[0] ? &none : &cells->lent_files};
    bool called =
        text && open_tool_call(&cells->tool, &input, &listener, cells->signal_fd, &call, &failure);
    lent_files_clear(&none);
    if (!called) {
        console_print_failure(&failure);
        cells->exit_status = EXIT_NOT_RUN;
        return;
    }
    report(cells, &output, &call);
    cells->exit_status = exit_status_of(&call);
    take_session(cells, &call);
    json_decref(call.json);
}
