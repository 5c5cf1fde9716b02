/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the words that are no identifiers: see tool_identifier.h. Runs in the gateway, on the thread
 * inside tool_invoke(). */
#include "tools/tool_identifier.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"

/* https://docs.python.org/3/reference/lexical_analysis.html#keywords, and the reserved words of
 * ECMAScript 2024 (section 12.7.2) in strict mode. */
static const char *const reserved[] = {
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield", "arguments", "case", "catch", "const", "debugger", "default", "delete", "do",
    "enum", "eval", "export", "extends", "false", "function", "implements", "instanceof",
    "interface", "let", "new", "null", "package", "private", "protected", "public", "static",
    "super", "switch", "this", "throw", "true", "typeof", "var", "void",
    /* the module's own */
    "ToolError", "aio", "call", "describe", "names", "search",
    /* what objects of JavaScript have, and what makes one a promise */
    "constructor", "then"};

static bool is_reserved(const char *word)
{
    for (size_t i = 0; i < COUNT_OF(reserved); i++)
        if (strcmp(reserved[i], word) == 0)
            return true;
    return false;
}

static bool is_taken(char c)
{
    return ascii_is_alphanumeric(c) || c == '_';
}

void tool_identifier_make(const char *name, char ret[TOOL_IDENTIFIER_SIZE])
{
    char word[TOOL_NAME_LIMIT + 1] = "";
    for (size_t i = 0; i < TOOL_NAME_LIMIT && name[i] != '\0'; i++)
        word[i] = (char)(is_taken(name[i]) ? name[i] : '_');
    bool needs_prefix = ascii_is_digit(word[0]) || strncmp(word, "__", 2) == 0 || is_reserved(word);
    (void)snprintf(ret, TOOL_IDENTIFIER_SIZE, "%s%s", needs_prefix ? "_" : "", word);
}

void tool_identifier_number(const char *name, unsigned number, char ret[TOOL_IDENTIFIER_SIZE])
{
    char word[TOOL_IDENTIFIER_SIZE];
    tool_identifier_make(name, word);
    (void)snprintf(ret, TOOL_IDENTIFIER_SIZE, "%.*s_%u", TOOL_NAME_LIMIT + 1, word, number);
}
