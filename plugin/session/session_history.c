/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what ran in a session, as approvers see it and as their answers are bound to it: see
 * session.h. Runs in the gateway, on the thread whose call has the session. */
#include "session/session.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "json/json_text.h"

/* The last member of a cell, in the canonical order. */
#define RAN    "\"undone\":false}"
#define UNDONE "\"undone\":true}"

static void first_line(const char *code, size_t length, char line[SESSION_LINE + 1])
{
    const char *end = code + length;
    while (code < end && (*code == '\n' || *code == '\r'))
        code++;
    size_t most = (size_t)(end - code) < SESSION_LINE ? (size_t)(end - code) : SESSION_LINE;
    const char *stop = memchr(code, '\n', most);
    size_t used = stop ? (size_t)(stop - code) : most;
    memcpy(line, code, used);
    line[used] = '\0';
    utf8_end_whole(line);
}

/* A new reference to a text: every later cell's approver sees it, so it is written once. NULL: no
 * memory. */
static json_t *describe_cell(const char *language, const char *code, size_t code_length,
                             int32_t exit_code, json_t *defined)
{
    char line[SESSION_LINE + 1];
    char code_sha256[SHA256_HEX_LENGTH + 1];
    struct json_draft cell = {.order = JSON_ORDER_SORTED};
    size_t length = 0;
    first_line(code, code_length, line);
    sha256_hex(code, code_length, code_sha256);
    json_draft_open(&cell, NULL, '{');
    json_draft_string(&cell, "code_sha256", code_sha256);
    json_draft_value(&cell, "defined", defined ? json_incref(defined) : json_null());
    json_draft_integer(&cell, "exit_code", exit_code);
    json_draft_string(&cell, "first_line", line);
    json_draft_string(&cell, "language", language);
    json_draft_boolean(&cell, "undone", false);
    json_draft_close(&cell, '}');
    CLEANUP_FREE char *text = json_draft_take(&cell, &length);
    return text ? json_stringn_nocheck(text, length) : NULL;
}

static void extend_history(struct session *session, const char *word)
{
    char both[2 * SHA256_HEX_LENGTH + 1];
    int length = snprintf(both, sizeof(both), "%s%s", session->history_sha256, word);
    sha256_hex(both, (size_t)length, session->history_sha256);
}

void session_note_cell(struct session *session, const char *language, const char *request_sha256,
                       const char *code, size_t code_length, int32_t exit_code, json_t *defined,
                       uint64_t most_undoable)
{
    json_t *cell = describe_cell(language, code, code_length, exit_code, defined);
    extend_history(session, request_sha256);
    session->cell_count++;
    session->undoable = session->undoable < most_undoable ? session->undoable + 1 : most_undoable;
    if (json_array_size(session->cells) == SESSION_CELLS_SHOWN)
        (void)json_array_remove(session->cells, 0);
    /* A history with a gap would show an approver less than what ran. */
    if (json_array_append_new(session->cells, cell) != 0)
        session_lose(session, SESSION_LOSS_CRASHED);
    session_end_as_wanted(session);
}

static bool is_undone(const json_t *cell)
{
    size_t length = json_string_length(cell);
    return strcmp(json_string_value(cell) + length - strlen(UNDONE), UNDONE) == 0;
}

/* false: no memory. */
static bool mark_undone(json_t *cells, size_t index)
{
    const json_t *cell = json_array_get(cells, index);
    size_t kept = json_string_length(cell) - strlen(RAN);
    size_t length = kept + strlen(UNDONE);
    CLEANUP_FREE char *text = malloc(length + 1);
    if (!text)
        return false;
    memcpy(text, json_string_value(cell), kept);
    memcpy(text + kept, UNDONE, strlen(UNDONE) + 1);
    return json_array_set_new(cells, index, json_stringn_nocheck(text, length)) == 0;
}

void session_note_undone(struct session *session)
{
    extend_history(session, "undone");
    session->undoable -= session->undoable > 0;
    for (size_t i = json_array_size(session->cells); i > 0; i--)
        if (!is_undone(json_array_get(session->cells, i - 1))) {
            if (!mark_undone(session->cells, i - 1))
                session_lose(session, SESSION_LOSS_CRASHED);
            return;
        }
}

/* NULL: it is undone, or of another language, or has said nothing. */
static json_t *defined_by(const json_t *cell, const char *language)
{
    json_auto_t *members =
        is_undone(cell)
            ? NULL
            : json_loadb(json_string_value(cell), json_string_length(cell), JSON_ALLOW_NUL, NULL);
    const char *of_cell = json_string_value(json_object_get(members, "language"));
    json_t *defined = json_object_get(members, "defined");
    bool has_said = of_cell && strcmp(of_cell, language) == 0 && json_is_array(defined);
    return has_said ? json_incref(defined) : NULL;
}

json_t *session_defined(const struct session *session, const char *language)
{
    json_t *defined = NULL;
    for (size_t i = json_array_size(session->cells); i > 0 && !defined; i--)
        defined = defined_by(json_array_get(session->cells, i - 1), language);
    return defined ? defined : json_array();
}

void session_write_cells(const struct session *session, const char *name, struct json_draft *draft)
{
    size_t i;
    json_t *cell;
    json_draft_open(draft, name, '[');
    json_array_foreach(session->cells, i, cell)
        json_draft_text(draft, NULL, json_string_value(cell), json_string_length(cell));
    json_draft_close(draft, ']');
}

bool session_copy_history(struct session *session, const struct session *from)
{
    json_decref(session->cells);
    session->cells = json_deep_copy(from->cells);
    session->cell_count = from->cell_count;
    memcpy(session->history_sha256, from->history_sha256, sizeof(session->history_sha256));
    extend_history(session, "forked");
    return session->cells;
}
