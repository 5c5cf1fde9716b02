/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at one line of Python: see run_notes.h. */
#include "result/run_notes.h"

#include <string.h>

#include "base/cleanup.h"

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
    const char *begin = end_of_line ? end_of_line + 1 : code->text;
    struct line line = {begin, (size_t)(code->text + code->length - begin)};
    code->length -= line.length + (end_of_line != NULL);
    while (line.length > 0 && strchr(" \t\r", line.text[line.length - 1]))
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
    while (length < line->length && line->text[length] != '\0' &&
           (strchr(letters, line->text[length]) || strchr(digits, line->text[length])))
        length++;
    for (size_t i = 0; i < COUNT_OF(statements); i++)
        if (strlen(statements[i]) == length && memcmp(statements[i], line->text, length) == 0)
            return false;
    return length > 0 || strchr("([{", line->text[0]) != NULL;
}

/* The open brackets and strings at a place of a line. */
struct nesting {
    char closers[LINE_LIMIT]; /* of the brackets */
    size_t depth;
    char quote; /* '\0': outside of a string */
};

/* false for a bracket that closes none. */
static bool take_bracket(struct nesting *nesting, char c)
{
    static const char openers[] = "([{";
    static const char closers[] = ")]}";
    const char *opener = strchr(openers, c);
    if (opener)
        nesting->closers[nesting->depth++] = closers[opener - openers];
    if (!strchr(closers, c))
        return true;
    if (nesting->depth == 0 || nesting->closers[nesting->depth - 1] != c)
        return false;
    nesting->depth--;
    return true;
}

/* "==", "!=", "<=" and ">=" assign nothing. */
static bool assigns(const struct line *line, size_t at)
{
    bool compares = at + 1 < line->length && line->text[at + 1] == '=';
    return !compares && (at == 0 || !strchr("=!<>", line->text[at - 1]));
}

/* One whole line: every bracket closed and every string ended within it, no assignment and no
 * second statement outside of them. */
static bool is_whole(const struct line *line)
{
    struct nesting nesting = {.depth = 0};
    for (size_t i = 0; i < line->length; i++) {
        char c = line->text[i];
        if (c == '\\' || c == '\0')
            return false;
        if (nesting.quote != '\0') {
            if (c == nesting.quote)
                nesting.quote = '\0';
            continue;
        }
        if (c == '#')
            break;
        if (c == '"' || c == '\'')
            nesting.quote = c;
        else if (!take_bracket(&nesting, c))
            return false;
        bool is_outside = nesting.depth == 0 && nesting.quote == '\0';
        if (is_outside && (strchr(";:,", c) || (c == '=' && assigns(line, i))))
            return false;
    }
    return nesting.depth == 0 && nesting.quote == '\0';
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
