/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at one line of Python: see last_expression.h. */
#include "last_expression.h"

#include <string.h>

#include "cleanup.h"

#define LINE_LIMIT 200 /* bytes; a longer line is left alone */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
static const char digits[] = "0123456789";

struct line {
    const char *text;
    size_t length;
};

static struct line take_last_line(struct line *code)
{
    const char *end_of_line = code->length > 0 ? memrchr(code->text, '\n', code->length) : NULL;
    const char *begin = end_of_line != NULL ? end_of_line + 1 : code->text;
    struct line line = {begin, (size_t)(code->text + code->length - begin)};
    code->length -= line.length + (end_of_line != NULL);
    while (line.length > 0 && strchr(" \t\r", line.text[line.length - 1]) != NULL)
        line.length--;
    return line;
}

/* Neither blank nor a comment; empty where there is none. */
static struct line find_last_line(struct line *code)
{
    struct line line = {code->text, 0};
    while (code->length > 0 && (line.length == 0 || line.text[0] == '#'))
        line = take_last_line(code);
    return line.length > 0 && line.text[0] == '#' ? (struct line){line.text, 0} : line;
}

/* With a name, a number or a bracket, and with no word that begins something else or prints. */
static bool begins_as_expression(const struct line *line)
{
    static const char *const statements[] = {
        "False",  "None",    "True",     "and",   "as",     "assert", "async",  "await",  "break",
        "case",   "class",   "continue", "def",   "del",    "elif",   "else",   "except", "exec",
        "exit",   "finally", "for",      "from",  "global", "if",     "import", "in",     "is",
        "lambda", "match",   "nonlocal", "not",   "or",     "pass",   "print",  "quit",   "raise",
        "return", "try",     "type",     "while", "with",   "yield"};
    size_t length = 0;
    while (
        length < line->length && line->text[length] != '\0' &&
        (strchr(letters, line->text[length]) != NULL || strchr(digits, line->text[length]) != NULL))
        length++;
    for (size_t i = 0; i < COUNT_OF(statements); i++)
        if (strlen(statements[i]) == length && memcmp(statements[i], line->text, length) == 0)
            return false;
    return length > 0 || strchr("([{", line->text[0]) != NULL;
}

static char closing_bracket(char opening)
{
    return strchr("()[]{}", opening)[1];
}

/* One whole line: every bracket closed and every string ended within it, no assignment and no
 * second statement outside of them. */
static bool is_whole(const struct line *line)
{
    char brackets[LINE_LIMIT];
    size_t depth = 0;
    char quote = '\0';
    for (size_t i = 0; i < line->length; i++) {
        char c = line->text[i];
        if (c == '\\' || c == '\0')
            return false;
        if (c == '#' && quote == '\0')
            break;
        if (quote != '\0') {
            if (c == quote)
                quote = '\0';
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '(' || c == '[' || c == '{') {
            brackets[depth++] = closing_bracket(c);
        } else if (c == ')' || c == ']' || c == '}') {
            if (depth == 0 || brackets[depth - 1] != c)
                return false;
            depth--;
        } else if (depth == 0 && (c == ';' || c == ':' || c == ',')) {
            return false;
        } else if (depth == 0 && c == '=') {
            bool compares = i + 1 < line->length && line->text[i + 1] == '=';
            if (!compares && (i == 0 || strchr("=!<>", line->text[i - 1]) == NULL))
                return false;
        }
    }
    return depth == 0 && quote == '\0';
}

static bool has(const struct line *line, const char *text)
{
    return memmem(line->text, line->length, text, strlen(text)) != NULL;
}

bool last_line_is_expression(const char *code, size_t length)
{
    struct line rest = {code, length};
    struct line line = find_last_line(&rest);
    struct line before = find_last_line(&rest);
    bool continues = before.length > 0 && strchr("\\,([{", before.text[before.length - 1]) != NULL;
    return line.length > 0 && line.length < LINE_LIMIT && !continues && !has(&line, "\"\"\"") &&
           !has(&line, "'''") && !has(&line, "exit(") && begins_as_expression(&line) &&
           is_whole(&line);
}
