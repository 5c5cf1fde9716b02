/* SPDX-License-Identifier: Apache-2.0 */
/* Strings, shells' words, and all that stands between delimiters. Pure code; runs in the gateway on
 * the calling thread. */
#include <string.h>

#include "cleanup.h"
#include "content_scanner.h"

#define PATTERN_LIMIT 1024 /* bytes of one; what ends later is none */

static void open_hole(struct scanner *scanner, char quote, char open, char close)
{
    if (scanner->hole_count == HOLES_LIMIT) {
        scanner->unclosed |= true;
        return;
    }
    scanner->holes[scanner->hole_count++] = (struct hole){quote, open, close, 0};
}

/* In a string, or in a shell's word: does code begin here? */
static bool enter_hole(struct scanner *scanner, char quote)
{
    const struct content_syntax *syntax = scanner->syntax;
    if (syntax->is_shell && quote == '"' && scan_starts_with(scanner, "$(")) {
        open_hole(scanner, quote, '(', ')');
        scan_advance(scanner, 2);
        return true;
    }
    if (syntax->is_shell && quote == '"' && *scanner->at == '`') {
        open_hole(scanner, quote, '\0', '`');
        scan_advance(scanner, 1);
        return true;
    }
    if (!scan_is_one_of(quote, syntax->hole_quotes) || !scan_starts_with(scanner, syntax->hole))
        return false;
    open_hole(scanner, quote, '{', syntax->hole_close);
    scan_advance(scanner, strlen(syntax->hole));
    return true;
}

/* The rest of a string, from behind its quote or behind a hole in it. */
void scan_string(struct scanner *scanner, char quote)
{
    const char *from = scanner->at;
    uint32_t line = scanner->line;
    const char *line_begin = scanner->line_begin;
    bool lines = scanner->syntax->lines && quote != '`';
    bool word = scan_is_one_of(quote, scanner->syntax->word_quotes);
    scan_begin(scanner);
    if (!word)
        scan_keep(scanner, '"');
    while (scanner->at < scanner->end && *scanner->at != quote &&
           !(lines && *scanner->at == '\n')) {
        if (*scanner->at == '\\') {
            scan_keep_escaped(scanner);
        } else if (enter_hole(scanner, quote)) {
            scan_keep(scanner, '"');
            scan_give(scanner, false);
            return;
        } else {
            scan_keep(scanner, *scanner->at);
            scan_advance(scanner, 1);
        }
    }
    const char *to = scanner->at;
    scanner->unclosed |= to == scanner->end;
    if (!word)
        scan_keep(scanner, '"');
    scan_give(scanner, true);
    if (scanner->line > line) { /* may be what is between two others */
        scanner->at = from;
        scanner->line = line;
        scanner->line_begin = line_begin;
        scan_give_plain(scanner, to);
    }
    scan_advance(scanner, 1);
}

/* A quoted part of a shell's word; false: it goes on behind a hole. */
static bool read_shell_quotes(struct scanner *scanner, char quote, bool escapes)
{
    while (scanner->at < scanner->end && *scanner->at != quote) {
        if (escapes && *scanner->at == '\\') {
            scan_keep_escaped(scanner);
        } else if (enter_hole(scanner, quote)) {
            scan_give(scanner, true);
            return false;
        } else {
            scan_keep(scanner, *scanner->at);
            scan_advance(scanner, 1);
        }
    }
    scanner->unclosed |= scanner->at == scanner->end;
    scan_advance(scanner, 1);
    return true;
}

/* From where it is, in a quoted part where quote is not NUL. */
void scan_shell_word(struct scanner *scanner, char quote)
{
    scan_begin(scanner);
    if (quote != '\0' && !read_shell_quotes(scanner, quote, true))
        return;
    while (scanner->at < scanner->end && !scan_ends_shell_word(*scanner->at)) {
        char c = *scanner->at;
        bool ansi = c == '$' && scan_peek(scanner, 1) == '\'';
        if (c == '\\') {
            scan_keep_escaped(scanner);
        } else if (c == '\'' || c == '"' || ansi) {
            scan_advance(scanner, ansi ? 2 : 1);
            if (!read_shell_quotes(scanner, c == '"' ? '"' : '\'', c == '"' || ansi))
                return;
        } else {
            scan_keep(scanner, c);
            scan_advance(scanner, 1);
        }
    }
    scan_give(scanner, true);
}

static char closing(char open)
{
    static const char pairs[] = "()[]{}<>";
    const char *found = open != '\0' ? strchr(pairs, open) : NULL;
    return (char)(found != NULL && (found - pairs) % 2 == 0 ? found[1] : open);
}

/* A part between delimiters, the first of which it stands at. */
static void give_delimited(struct scanner *scanner)
{
    char open = scan_peek(scanner, 0);
    char close = closing(open);
    size_t depth = 0;
    scan_begin(scanner);
    scan_advance(scanner, 1);
    const char *to = scanner->at;
    for (; to < scanner->end && (*to != close || depth > 0); to++) {
        if (*to == '\\' && to + 1 < scanner->end)
            to++;
        else if (open != close && *to == open)
            depth++;
        else if (open != close && *to == close)
            depth--;
    }
    scanner->unclosed |= to == scanner->end;
    const struct content_token place = scanner->place;
    scan_give_plain(scanner, to);
    scanner->place = place;
    scan_advance(scanner, 1);
}

/* A pattern ends on its line, or is none. */
bool scan_pattern(struct scanner *scanner)
{
    size_t left = (size_t)(scanner->end - scanner->at);
    const char *line_end = scanner->at + (left < PATTERN_LIMIT ? left : PATTERN_LIMIT);
    bool in_class = false;
    if (scanner->after_value)
        return false;
    line_end = scan_find(scanner->at, line_end, "\n");
    const char *to = scanner->at + 1;
    for (; to < line_end && (*to != '/' || in_class); to++) {
        if (*to == '\\')
            to++;
        else if (*to == '[' || *to == ']')
            in_class = *to == '[';
    }
    if (to >= line_end)
        return false;
    scan_advance(scanner, 1);
    scan_give_plain(scanner, to);
    scan_advance(scanner, 1);
    scanner->after_value = true;
    return true;
}

/* Perl's q(), qq{}, qw//, s###, y///, and the like. */
bool scan_quote_words(struct scanner *scanner)
{
    static const char *const operators[] = {"qq", "qw", "qr", "qx", "tr", "q", "m", "s", "y"};
    bool named = scanner->at > scanner->begin && scan_is_one_of(scanner->at[-1], "$@%&>{");
    for (size_t i = 0; i < COUNT_OF(operators) && !named; i++) {
        size_t length = strlen(operators[i]);
        if (!scan_starts_with(scanner, operators[i]) ||
            scan_is_word_byte(scanner, scan_peek(scanner, length)))
            continue;
        size_t spaces = 0;
        while (scan_is_space(scan_peek(scanner, length + spaces)))
            spaces++;
        char open = scan_peek(scanner, length + spaces);
        if (scan_is_one_of(open, "=,;)") || open == '\0' || (open == '#' && spaces > 0) ||
            scan_is_letter(open) || scan_is_digit(open))
            return false;
        scan_advance(scanner, length + spaces);
        give_delimited(scanner);
        bool has_second = strchr("tsy", operators[i][0]) != NULL;
        if (has_second && closing(open) == open)
            scanner->at--;
        while (has_second && scan_is_space(scan_peek(scanner, 0)))
            scan_advance(scanner, 1);
        if (has_second && scanner->at < scanner->end)
            give_delimited(scanner);
        scanner->after_value = true;
        return true;
    }
    return false;
}

/* Ruby's %q(), %w[], %(). */
bool scan_percent(struct scanner *scanner)
{
    size_t length = scan_is_one_of(scan_peek(scanner, 1), "qQwWiIrsx") ? 2 : 1;
    char open = scan_peek(scanner, length);
    if (scanner->after_value || scan_peek(scanner, 0) != '%' || scan_is_letter(open) ||
        scan_is_digit(open) || scan_is_space(open) || open == '\0')
        return false;
    scan_advance(scanner, length);
    give_delimited(scanner);
    scanner->after_value = true;
    return true;
}

/* Lua's [[ ]], [==[ ]==]; the comment's where hidden. */
bool scan_long_brackets(struct scanner *scanner, size_t offset, bool hidden)
{
    char close[CONTENT_TOKEN_LIMIT] = "]";
    size_t level = 0;
    while (scan_peek(scanner, offset + 1 + level) == '=')
        level++;
    if (scan_peek(scanner, offset) != '[' || scan_peek(scanner, offset + 1 + level) != '[' ||
        level + 3 > sizeof(close))
        return false;
    memset(close + 1, '=', level);
    close[level + 1] = ']';
    close[level + 2] = '\0';
    const char *to;
    scan_advance(scanner, offset + level + 2);
    if (scan_find_close(scanner, close, &to) && !hidden &&
        to - scanner->at < CONTENT_TOKEN_LIMIT - 2) {
        scan_keep(scanner, '"');
        for (const char *c = scanner->at; c < to; c++)
            scan_keep(scanner, *c);
        scan_keep(scanner, '"');
        scan_give(scanner, true);
    }
    if (hidden)
        scan_skip_to(scanner, to);
    else
        scan_give_plain(scanner, to);
    scan_advance(scanner, level + 2);
    return true;
}

/* R's r"---( )---". */
bool scan_raw_string(struct scanner *scanner)
{
    char close[CONTENT_TOKEN_LIMIT];
    char quote = scan_peek(scanner, 1);
    size_t dashes = 0;
    if (!scan_is_one_of(scan_peek(scanner, 0), "rR") || !scan_is_one_of(quote, "'\""))
        return false;
    while (scan_peek(scanner, 2 + dashes) == '-')
        dashes++;
    char open = scan_peek(scanner, 2 + dashes);
    if (!scan_is_one_of(open, "([{") || dashes + 3 > sizeof(close))
        return false;
    close[0] = closing(open);
    memset(close + 1, '-', dashes);
    close[dashes + 1] = quote;
    close[dashes + 2] = '\0';
    const char *to;
    scan_advance(scanner, dashes + 3);
    (void)scan_find_close(scanner, close, &to);
    scan_give_plain(scanner, to);
    scan_advance(scanner, dashes + 2);
    return true;
}

/* How long it is; in quotes it may have other characters. */
static size_t heredoc_word(const struct scanner *scanner, size_t at, char quote)
{
    size_t length = 0;
    for (;; length++) {
        char c = scan_peek(scanner, at + length);
        if (quote != '\0' && (c == '\n' || c == '\0'))
            return 0;
        if (quote != '\0' ? c == quote : !scan_is_letter(c) && !scan_is_digit(c))
            return length;
    }
}

/* Where a here-document is announced: its word is kept for the line's end. */
bool scan_heredoc(struct scanner *scanner)
{
    enum content_heredoc kind = scanner->syntax->heredoc;
    const char *mark = kind == CONTENT_HEREDOC_PHP ? "<<<" : "<<";
    bool shell = kind == CONTENT_HEREDOC_SHELL;
    if (kind == CONTENT_HEREDOC_NONE || !scan_starts_with(scanner, mark) ||
        (kind != CONTENT_HEREDOC_PHP && scan_peek(scanner, 2) == '<'))
        return false;
    size_t at = strlen(mark);
    at += scan_is_one_of(scan_peek(scanner, at), "-~");
    while ((shell || kind == CONTENT_HEREDOC_PHP) && scan_is_one_of(scan_peek(scanner, at), " \t"))
        at++;
    char quote = scan_peek(scanner, at);
    bool quoted = quote == '\'' || quote == '"';
    at += quoted || quote == '\\';
    size_t length = heredoc_word(scanner, at, (char)(quoted ? quote : '\0'));
    if (length == 0 || (!shell && scan_is_digit(scan_peek(scanner, at))) ||
        scanner->heredoc_count == HEREDOCS_LIMIT)
        return false;
    scanner->heredocs[scanner->heredoc_count++] = (struct heredoc){scanner->at + at, length};
    scan_give_sign(scanner);
    scan_give_plain(scanner, scanner->at - 1 + at + length);
    scan_advance(scanner, quoted);
    return true;
}

/* Behind the end of a line: the bodies of the documents that it announced. */
void scan_give_heredocs(struct scanner *scanner)
{
    for (size_t i = 0; i < scanner->heredoc_count; i++) {
        const struct heredoc *heredoc = &scanner->heredocs[i];
        while (scanner->at < scanner->end) {
            const char *line_end = scan_end_of_line(scanner);
            const char *word = scanner->at;
            while (word < line_end && scan_is_one_of(*word, " \t"))
                word++;
            size_t left = (size_t)(line_end - word);
            bool ends = left >= heredoc->length &&
                        memcmp(word, heredoc->word, heredoc->length) == 0 &&
                        (left == heredoc->length || !scan_is_letter(word[heredoc->length]));
            scan_give_plain(scanner, ends ? word + heredoc->length : line_end);
            if (ends)
                break;
            scan_advance(scanner, 1);
        }
    }
    scanner->heredoc_count = 0;
}
