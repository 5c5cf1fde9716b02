/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the names of a call's errors: see tool_answer.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "tools/tool_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "json/json_text.h"

static const struct {
    const char *name;
    const char *meaning;
} errors[TOOL_ERROR_COUNT] = {
#define X(constant, name, meaning) [TOOL_ERROR_##constant] = {name, meaning},
    TOOL_ERRORS(X)
#undef X
};

const char *tool_error_name(enum tool_error_code code)
{
    return errors[code].name;
}

const char *tool_error_meaning(enum tool_error_code code)
{
    return errors[code].meaning;
}

/* As much as an error may have, of characters that are whole. */
static void copy_message(const char *message, char ret[TOOL_MESSAGE_LIMIT + 1])
{
    size_t length = strnlen(message, TOOL_MESSAGE_LIMIT);
    length = utf8_whole_prefix((const unsigned char *)message, length);
    memcpy(ret, message, length);
    ret[length] = '\0';
    for (size_t i = 0; i < length;) {
        size_t sequence = utf8_sequence((const unsigned char *)ret + i, length - i);
        if (sequence == 0)
            ret[i] = '?';
        i += sequence > 0 ? sequence : 1;
    }
}

bool tool_error_answer(enum tool_error_code code, const char *message, bool retryable,
                       struct tool_answer *ret)
{
    char shown[TOOL_MESSAGE_LIMIT + 1];
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t length = 0;
    copy_message(message, shown);
    json_draft_open(&draft, NULL, '{');
    json_draft_string(&draft, "code", tool_error_name(code));
    json_draft_string(&draft, "message", shown);
    json_draft_boolean(&draft, "retryable", retryable);
    json_draft_close(&draft, '}');
    char *text = json_draft_take(&draft, &length);
    if (!text)
        return false;
    *ret = (struct tool_answer){
        .form = TOOL_ANSWER_ERROR, .code = code, .bytes = (unsigned char *)text, .length = length};
    return true;
}

void tool_answer_clear(struct tool_answer *answer)
{
    if (answer->bytes)
        explicit_bzero(answer->bytes, answer->length);
    free(answer->bytes);
    *answer = (struct tool_answer){.bytes = NULL};
}
