/* SPDX-License-Identifier: Apache-2.0 */
/* Reading decisions. Runs in the gateway, on whichever thread answers. */
#include "approval/approval_decision.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "json/json_input.h"
#include "json/json_text.h"

static const char *const names[APPROVAL_ANSWER_COUNT] = {
    [APPROVAL_ANSWER_ALLOW_ONCE] = "allow_once",
    [APPROVAL_ANSWER_ALLOW_SESSION] = "allow_session",
    [APPROVAL_ANSWER_ALLOW_ALWAYS] = "allow_always",
    [APPROVAL_ANSWER_DENY] = "deny",
    [APPROVAL_ANSWER_EDIT] = "edit",
    [APPROVAL_ANSWER_ALLOW_CELLS] = "allow_cells",
    [APPROVAL_ANSWER_CANCEL] = "cancel",
    [APPROVAL_ANSWER_ALLOW_RUN] = "allow_run",
    [APPROVAL_ANSWER_UNAVAILABLE] = "unavailable",
};

const char *approval_answer_name(enum approval_answer answer)
{
    return names[answer];
}

const char *const *approval_decision_members(void)
{
    static const char *const members[] = {
        "approval_id", "approver", "arguments", "pending_id", "reason", "request_sha256", NULL};
    return members;
}

bool approval_answer_allows(enum approval_answer answer)
{
    return answer != APPROVAL_ANSWER_DENY && answer != APPROVAL_ANSWER_CANCEL &&
           answer != APPROVAL_ANSWER_UNAVAILABLE;
}

static bool find_answer(const char *name, enum approval_answer *ret)
{
    for (int i = 0; i < APPROVAL_ANSWER_COUNT; i++) {
        if (strcmp(names[i], name) != 0)
            continue;
        *ret = (enum approval_answer)i;
        return true;
    }
    return false;
}

/* As much as there is room for, and never half a character: it becomes JSON again. */
static void copy_text(const char *text, char ret[APPROVAL_TEXT_LIMIT])
{
    size_t length = strnlen(text, APPROVAL_TEXT_LIMIT - 1);
    length = utf8_whole_prefix((const unsigned char *)text, length);
    memcpy(ret, text, length);
    ret[length] = '\0';
}

/* An id that a person can type after "toolhost approvals revoke". */
static bool read_id(const char *id, char ret[APPROVAL_ID_LENGTH + 1])
{
    size_t length = strlen(id);
    if (length > APPROVAL_ID_LENGTH || strspn(id, ASCII_ALPHANUMERIC "._-") != length)
        return false;
    memcpy(ret, id, length + 1);
    return true;
}

/* Arguments belong to an edit, and an edit is nothing without. */
static bool read_arguments(const json_t *value, struct approval_decision_text *ret)
{
    if (ret->answer != APPROVAL_ANSWER_EDIT)
        return !value;
    if (!json_is_object(value))
        return false;
    ret->arguments = json_text(value, JSON_ORDER_MADE);
    return ret->arguments != NULL;
}

/* New; NULL for what is no JSON. */
static json_t *parse(const char *decision_json)
{
    static const struct json_input_limits limits = {.max_bytes = APPROVAL_DECISION_BYTES_LIMIT,
                                                    .max_depth = REQUEST_DEPTH_LIMIT + 1};
    struct error ignored;
    if (!decision_json)
        return NULL;
    return json_input_parse("decision", decision_json,
                            strnlen(decision_json, APPROVAL_DECISION_BYTES_LIMIT + 1), &limits,
                            ERROR_INVALID_INPUT, &ignored);
}

bool approval_pending_id_read(const char *decision_json, char ret[APPROVAL_ID_LENGTH + 1])
{
    json_auto_t *json = parse(decision_json);
    const char *id = "";
    return json && json_unpack_ex(json, NULL, JSON_STRICT, "{s:s}", "pending_id", &id) == 0 &&
           id[0] != '\0' && read_id(id, ret);
}

bool approval_decision_read(const char *decision_json, struct approval_decision_text *ret)
{
    json_auto_t *json = parse(decision_json);
    const char *name = NULL;
    const char *hash = "";
    const char *id = "";
    const char *approver = "";
    const char *reason = "";
    const json_t *arguments = NULL;
    *ret = (struct approval_decision_text){.answer = APPROVAL_ANSWER_DENY};
    if (!json ||
        json_unpack_ex(json, NULL, JSON_STRICT, "{s:s, s?s, s?s, s?s, s?s, s?o}", "decision", &name,
                       "approval_id", &id, "request_sha256", &hash, "approver", &approver, "reason",
                       &reason, "arguments", &arguments) != 0 ||
        !find_answer(name, &ret->answer))
        return false;
    if (strlen(hash) != 0 && strlen(hash) != SHA256_HEX_LENGTH)
        return false;
    memcpy(ret->request_sha256, hash, strlen(hash) + 1);
    copy_text(approver, ret->approver);
    copy_text(reason, ret->reason);
    return read_id(id, ret->id) && read_arguments(arguments, ret);
}

void approval_decision_clear(struct approval_decision_text *decision)
{
    free(decision->arguments);
    *decision = (struct approval_decision_text){.answer = APPROVAL_ANSWER_DENY};
}
