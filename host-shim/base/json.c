/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON, and says what is wrong with a text that is none. Pure code, any thread. */
#include "base/json.h"

#include <stdio.h>

#include "base/cleanup.h"

bool json_list_has(const json_t *list, const char *text)
{
    size_t index = 0;
    const json_t *element = NULL;
    json_array_foreach(list, index, element)
    {
        const char *found = json_c_string(element);
        if (found && strcmp(found, text) == 0)
            return true;
    }
    return false;
}

char *json_text(const json_t *value, size_t flags)
{
    size_t size = json_dumpb(value, NULL, 0, flags);
    CLEANUP_FREE char *text = size > 0 ? malloc(size + 1) : NULL;
    if (!text || json_dumpb(value, text, size, flags) != size)
        return NULL;
    text[size] = '\0';
    return TAKE_POINTER(text);
}

char *json_compact(const json_t *value)
{
    return json_text(value, JSON_COMPACT);
}

/* Errors without a code of their own: recognized by the beginning of jansson's text. */
static const char *words_of_syntax(const char *text)
{
    if (strncmp(text, "invalid Unicode", strlen("invalid Unicode")) == 0)
        return "it has an escape that is not a Unicode character";
    if (strncmp(text, "control character", strlen("control character")) == 0)
        return "it has a control character that is not escaped";
    return "it is not JSON";
}

static const char *words_of(const json_error_t *error)
{
    switch ((int)json_error_code(error)) {
    case json_error_out_of_memory:
        return "no memory for it";
    case json_error_premature_end_of_input:
        return "it ends too early";
    case json_error_end_of_input_expected:
        return "there is more after its value";
    case json_error_invalid_utf8:
        return "it is not UTF-8";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "it has a NUL character";
    case json_error_duplicate_key:
        return "it has a member twice";
    case json_error_numeric_overflow:
        return "it has a number out of range";
    case json_error_stack_overflow:
        return "it is nested too deeply";
    default:
        return words_of_syntax(error->text);
    }
}

void json_problem(const json_error_t *error, char ret[JSON_PROBLEM_LIMIT])
{
    (void)snprintf(ret, JSON_PROBLEM_LIMIT, "%s, at line %d, byte %d", words_of(error), error->line,
                   error->column);
}
