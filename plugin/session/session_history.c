/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what ran in a session, as approvers see it and as their answers are bound to it: see
 * session.h. Runs in the gateway, on the thread whose call has the session. */
#include "session/session.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static json_t *first_line(const char *code, size_t length)
{
    char line[SESSION_LINE + 1];
    const char *end = code + length;
    while (code < end && (*code == '\n' || *code == '\r'))
        code++;
    size_t most = (size_t)(end - code) < SESSION_LINE ? (size_t)(end - code) : SESSION_LINE;
    const char *stop = memchr(code, '\n', most);
    size_t used = stop ? (size_t)(stop - code) : most;
    memcpy(line, code, used);
    line[used] = '\0';
    utf8_end_whole(line);
    return json_string(line);
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
    char code_sha256[SHA256_HEX_LENGTH + 1];
    extend_history(session, request_sha256);
    sha256_hex(code, code_length, code_sha256);
    json_t *cell =
        json_pack("{s:s, s:s, s:o?, s:i, s:O?, s:b}", "language", language, "code_sha256",
                  code_sha256, "first_line", first_line(code, code_length), "exit_code", exit_code,
                  "defined", defined, "undone", 0);
    session->cell_count++;
    session->undoable = session->undoable < most_undoable ? session->undoable + 1 : most_undoable;
    if (json_array_size(session->cells) == SESSION_CELLS_SHOWN)
        (void)json_array_remove(session->cells, 0);
    /* A history with a gap would show an approver less than what ran. */
    if (json_array_append_new(session->cells, cell) != 0)
        session_lose(session, SESSION_LOSS_CRASHED);
    session_end_as_wanted(session);
}

void session_note_undone(struct session *session)
{
    extend_history(session, "undone");
    session->undoable -= session->undoable > 0;
    for (size_t i = json_array_size(session->cells); i > 0; i--) {
        json_t *cell = json_array_get(session->cells, i - 1);
        if (json_is_true(json_object_get(cell, "undone")))
            continue;
        (void)json_object_set_new(cell, "undone", json_true()); /* the member is there: no memory */
        return;
    }
}
