/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner. Pure code; runs in the gateway on the calling thread. */
#include "content_scanner.h"

#include <string.h>

#include "cleanup.h"

bool scan_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool scan_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

bool scan_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool scan_is_one_of(char c, const char *set)
{
    return set != NULL && c != '\0' && strchr(set, c) != NULL;
}

bool scan_ends_shell_word(char c)
{
    return scan_is_space(c) || c == '\0' || scan_is_one_of(c, "|&;()<>`");
}

bool scan_is_word_byte(const struct scanner *scanner, char c)
{
    if (scanner->syntax->is_shell)
        return !scan_ends_shell_word(c) && !scan_is_one_of(c, "'\"\\");
    return scan_is_letter(c) || scan_is_digit(c) || scan_is_one_of(c, scanner->syntax->word_more);
}

/* '\0' behind the end. */
char scan_peek(const struct scanner *scanner, size_t ahead)
{
    return (char)(ahead < (size_t)(scanner->end - scanner->at) ? scanner->at[ahead] : '\0');
}

bool scan_starts_with(const struct scanner *scanner, const char *text)
{
    size_t length = text != NULL ? strlen(text) : 0;
    return length > 0 && (size_t)(scanner->end - scanner->at) >= length &&
           memcmp(scanner->at, text, length) == 0;
}

void scan_advance(struct scanner *scanner, size_t count)
{
    for (; count > 0 && scanner->at < scanner->end; count--)
        if (*scanner->at++ == '\n') {
            scanner->line++;
            scanner->line_begin = scanner->at;
        }
}

void scan_begin(struct scanner *scanner)
{
    scanner->length = 0;
    scanner->place.line = scanner->line;
    scanner->place.column = (uint32_t)(scanner->at - scanner->line_begin) + 1;
}

void scan_keep(struct scanner *scanner, char c)
{
    if (scanner->length < sizeof(scanner->text))
        scanner->text[scanner->length++] = c;
}

void scan_give(struct scanner *scanner, bool is_value)
{
    scanner->place.text = scanner->text;
    scanner->place.length = scanner->length;
    scanner->after_value = is_value;
    if (scanner->length > 0)
        scanner->take(scanner->user, &scanner->place);
}

void scan_give_sign(struct scanner *scanner)
{
    char c = *scanner->at;
    scan_begin(scanner);
    scan_keep(scanner, c);
    scan_advance(scanner, 1);
    scan_give(scanner, c == ')' || c == ']' || c == '}');
}

/* Words behind which a pattern can stand. */
static bool awaits_value(const char *word, size_t length)
{
    static const char *const words[] = {"return", "typeof", "case",  "in",   "of",    "void",
                                        "delete", "throw",  "new",   "do",   "else",  "instanceof",
                                        "yield",  "await",  "split", "grep", "map",   "join",
                                        "if",     "unless", "and",   "or",   "not",   "while",
                                        "until",  "when",   "then",  "puts", "print", "push"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0)
            return true;
    return false;
}

static int digit_of(char c)
{
    if (scan_is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* \x41, \u0041, \u{41}: what of them is ASCII. Returns how many bytes it has; 0: none of them. */
static size_t read_escape(const struct scanner *scanner, char *ret)
{
    size_t at = 2;
    size_t most = scan_peek(scanner, 1) == 'x' ? 2 : 4;
    bool braced = scan_peek(scanner, 2) == '{';
    unsigned value = 0;
    size_t digits = 0;
    if (scan_peek(scanner, 1) != 'x' && scan_peek(scanner, 1) != 'u')
        return 0;
    at += braced;
    for (; digits < (braced ? 8 : most) && digit_of(scan_peek(scanner, at)) >= 0; digits++, at++)
        value = value * 16 + (unsigned)digit_of(scan_peek(scanner, at));
    if (digits == 0 || value == 0 || value >= 0x80)
        return 0;
    *ret = (char)value;
    return at + braced;
}

/* The backslash and what is behind it. */
void scan_keep_escaped(struct scanner *scanner)
{
    char c = scan_peek(scanner, 1);
    size_t length = read_escape(scanner, &c);
    if (c != '\n')
        scan_keep(scanner, c);
    scan_advance(scanner, length > 0 ? length : 2);
}

static void read_word(struct scanner *scanner)
{
    scan_begin(scanner);
    while (scanner->at < scanner->end) {
        char c = '\0';
        size_t escape = *scanner->at == '\\' ? read_escape(scanner, &c) : 0;
        if (escape == 0 && !scan_is_word_byte(scanner, *scanner->at))
            break;
        scan_keep(scanner, (char)(escape > 0 ? c : *scanner->at));
        scan_advance(scanner, escape > 0 ? escape : 1);
    }
    scan_give(scanner, !awaits_value(scanner->text, scanner->length));
}

/* Words and signs, whatever they stand in. */
void scan_give_plain(struct scanner *scanner, const char *to)
{
    const char *end = scanner->end;
    scanner->end = to;
    while (scanner->at < to) {
        if (scan_is_space(*scanner->at))
            scan_advance(scanner, 1);
        else if (scan_is_word_byte(scanner, *scanner->at))
            read_word(scanner);
        else
            scan_give_sign(scanner);
    }
    scanner->end = end;
}

const char *scan_find(const char *from, const char *end, const char *text)
{
    const char *found = memmem(from, (size_t)(end - from), text, strlen(text));
    return found != NULL ? found : end;
}

const char *scan_end_of_line(const struct scanner *scanner)
{
    return scan_find(scanner->at, scanner->end, "\n");
}

void scan_skip_to(struct scanner *scanner, const char *to)
{
    scan_advance(scanner, (size_t)(to - scanner->at));
}

/* To what closes it, which is behind *ret_end; false: nothing does. */
bool scan_find_close(struct scanner *scanner, const char *text, const char **ret_end)
{
    scan_begin(scanner);
    *ret_end = scan_find(scanner->at, scanner->end, text);
    scanner->unclosed |= *ret_end == scanner->end;
    return *ret_end != scanner->end;
}

/* Text before "<?php", or behind "?>". */
static void give_template(struct scanner *scanner)
{
    const char *to = scan_find(scanner->at, scanner->end, "<?");
    scan_give_plain(scanner, to);
    if (scan_starts_with(scanner, "<?php"))
        scan_advance(scanner, 5);
    else
        scan_advance(scanner, scan_starts_with(scanner, "<?=") ? 3 : 2);
}

static bool read_line_comment(struct scanner *scanner)
{
    const struct content_syntax *syntax = scanner->syntax;
    for (size_t i = 0; i < COUNT_OF(syntax->line_comments); i++) {
        if (!scan_starts_with(scanner, syntax->line_comments[i]))
            continue;
        /* $#list of Perl and shells, #[Attribute] of PHP */
        if (scanner->at > scanner->begin && scanner->at[-1] == '$' && *scanner->at == '#')
            return false;
        if (syntax->is_template && scan_starts_with(scanner, "#["))
            return false;
        const char *to = scan_end_of_line(scanner);
        const char *tag = syntax->is_template ? scan_find(scanner->at, to, "?>") : to;
        scan_skip_to(scanner, tag);
        return true;
    }
    return false;
}

static bool read_comment(struct scanner *scanner)
{
    const struct content_syntax *syntax = scanner->syntax;
    const char *to;
    if (syntax->has_long_brackets && scan_starts_with(scanner, "--") &&
        scan_long_brackets(scanner, 2, true))
        return true;
    if (scan_starts_with(scanner, syntax->block_open)) {
        scan_begin(scanner);
        scan_advance(scanner, strlen(syntax->block_open));
        to = scan_find(scanner->at, scanner->end, syntax->block_close);
        scanner->unclosed |= to == scanner->end;
        scan_skip_to(scanner, to);
        scan_advance(scanner, strlen(syntax->block_close));
        return true;
    }
    return read_line_comment(scanner);
}

/* =begin ... =end, =pod ... =cut, to the end of the line that ends it. */
static bool read_block_lines(struct scanner *scanner)
{
    const struct content_syntax *syntax = scanner->syntax;
    if (scanner->at != scanner->line_begin || !scan_starts_with(scanner, syntax->block_lines) ||
        !scan_is_letter(scan_peek(scanner, 1)))
        return false;
    while (scanner->at < scanner->end) {
        bool last = scan_starts_with(scanner, syntax->block_lines_end);
        const char *to = scan_end_of_line(scanner);
        if (syntax->block_lines_hidden)
            scan_skip_to(scanner, to);
        else
            scan_give_plain(scanner, to);
        if (last)
            break;
        scan_advance(scanner, 1);
    }
    return true;
}

/* A bracket of the code in a string: its end, or one more of its kind. */
static bool leave_hole(struct scanner *scanner)
{
    if (scanner->hole_count == 0)
        return false;
    struct hole *hole = &scanner->holes[scanner->hole_count - 1];
    char c = *scanner->at;
    if (c == hole->close && hole->depth == 0) {
        char quote = hole->quote;
        scanner->hole_count--;
        scan_advance(scanner, 1);
        if (scanner->syntax->is_shell)
            scan_shell_word(scanner, quote);
        else
            scan_string(scanner, quote);
        return true;
    }
    if (c == hole->open)
        hole->depth++;
    else if (c == hole->close)
        hole->depth--;
    return false;
}

static bool read_quoted(struct scanner *scanner)
{
    const struct content_syntax *syntax = scanner->syntax;
    char quote = *scanner->at;
    if (!scan_is_one_of(quote, syntax->quotes) && !scan_is_one_of(quote, syntax->word_quotes))
        return false;
    scan_advance(scanner, 1);
    scan_string(scanner, quote);
    return true;
}

static bool read_special(struct scanner *scanner)
{
    const struct content_syntax *syntax = scanner->syntax;
    return (syntax->has_quote_words && scan_quote_words(scanner)) ||
           (syntax->has_percent && scan_percent(scanner)) ||
           (syntax->has_long_brackets && scan_long_brackets(scanner, 0, false)) ||
           (syntax->has_raw_strings && scan_raw_string(scanner)) || scan_heredoc(scanner) ||
           (syntax->regex == CONTENT_REGEX_SLASH && *scanner->at == '/' && scan_pattern(scanner));
}

static void read_one(struct scanner *scanner)
{
    const struct content_syntax *syntax = scanner->syntax;
    char c = *scanner->at;
    if (read_block_lines(scanner) || leave_hole(scanner))
        return;
    if (scan_is_space(c)) {
        scan_advance(scanner, 1);
        if (c == '\n')
            scan_give_heredocs(scanner);
        return;
    }
    if (syntax->is_template && scan_starts_with(scanner, "?>")) {
        give_template(scanner);
        return;
    }
    if (read_comment(scanner) || read_quoted(scanner) || read_special(scanner))
        return;
    if (syntax->is_shell && !scan_ends_shell_word(c))
        scan_shell_word(scanner, '\0');
    else if (scan_is_word_byte(scanner, c) || (c == '\\' && read_escape(scanner, &c) > 0))
        read_word(scanner);
    else
        scan_give_sign(scanner);
}

static struct scanner scanner_of(const struct content_syntax *syntax, const char *text,
                                 size_t length, content_token_taker *take, void *user)
{
    return (struct scanner){.syntax = syntax,
                            .at = text,
                            .begin = text,
                            .line_begin = text,
                            .end = text + length,
                            .line = 1,
                            .take = take,
                            .user = user};
}

bool content_scan(const struct content_syntax *syntax, const char *text, size_t length,
                  content_token_taker *take, void *user, uint32_t *ret_line, uint32_t *ret_column)
{
    struct scanner scanner = scanner_of(syntax, text, length, take, user);
    scan_begin(&scanner);
    if (syntax->is_template)
        give_template(&scanner);
    while (scanner.at < scanner.end && !scanner.unclosed)
        read_one(&scanner);
    if (!scanner.unclosed && scanner.hole_count == 0)
        return true;
    *ret_line = scanner.place.line;
    *ret_column = scanner.place.column;
    return false;
}

void content_scan_plain(const struct content_syntax *syntax, const char *text, size_t length,
                        content_token_taker *take, void *user)
{
    struct scanner scanner = scanner_of(syntax, text, length, take, user);
    scan_give_plain(&scanner, scanner.end);
}

void content_split_rule(const struct content_syntax *syntax, char *const *sequence,
                        content_token_taker *take, void *user)
{
    for (; *sequence != NULL; sequence++) {
        const struct content_token word = {.text = *sequence, .length = strlen(*sequence)};
        if (syntax->is_shell || **sequence == '"')
            take(user, &word);
        else
            content_scan_plain(syntax, word.text, word.length, take, user);
    }
}
