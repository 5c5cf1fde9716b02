/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner's state, and what its two files do for each other. Inner to content_scan.h. */
#pragma once

#include "content_scan.h"

#define HOLES_LIMIT    64 /* code in strings in code ... */
#define HEREDOCS_LIMIT 16 /* of one line */

/* Code in a string, until its bracket closes. */
struct hole {
    char quote; /* of the string */
    char open;
    char close;
    uint32_t depth; /* of brackets in it */
};

struct heredoc {
    const char *word;
    size_t length;
};

struct scanner {
    const struct content_syntax *syntax;
    const char *at;
    const char *end;
    const char *begin;
    const char *line_begin;
    uint32_t line;
    content_token_taker *take;
    void *user;
    bool after_value; /* a "/" would divide */
    bool unclosed;    /* what began at place */
    struct content_token place;
    struct hole holes[HOLES_LIMIT];
    size_t hole_count;
    struct heredoc heredocs[HEREDOCS_LIMIT];
    size_t heredoc_count;
    char text[CONTENT_TOKEN_LIMIT]; /* of the token that is being read */
    size_t length;
};

/* What of content_scan.c the strings need. */
bool scan_is_space(char c);
bool scan_is_letter(char c);
bool scan_is_digit(char c);
bool scan_is_one_of(char c, const char *set);
bool scan_ends_shell_word(char c);
/* Of the syntax's words, inside one. */
bool scan_is_word_byte(const struct scanner *scanner, char c);
/* '\0' behind the end. */
char scan_peek(const struct scanner *scanner, size_t ahead);
bool scan_starts_with(const struct scanner *scanner, const char *text);
void scan_advance(struct scanner *scanner, size_t count);
/* A token is begun where the scanner stands, kept byte by byte, and given. */
void scan_begin(struct scanner *scanner);
void scan_keep(struct scanner *scanner, char c);
void scan_give(struct scanner *scanner, bool is_value);
void scan_give_sign(struct scanner *scanner);
/* The backslash that it stands at, and what is behind it. */
void scan_keep_escaped(struct scanner *scanner);
/* Words and signs up to there, whatever they stand in. */
void scan_give_plain(struct scanner *scanner, const char *to);
/* Where the text is, or the end. */
const char *scan_find(const char *from, const char *end, const char *text);
const char *scan_end_of_line(const struct scanner *scanner);
void scan_skip_to(struct scanner *scanner, const char *to);
bool scan_find_close(struct scanner *scanner, const char *text, const char **ret_end);

/* What of content_scan_quotes.c the scanner needs: each reads what begins where it stands; false:
 * nothing of its kind does. The rest of a string, or of a shell's word in which quote is open: */
void scan_string(struct scanner *scanner, char quote);
void scan_shell_word(struct scanner *scanner, char quote);
/* Perl's q(), qq{}, qw//, s###, y///, and the like. */
bool scan_quote_words(struct scanner *scanner);
bool scan_percent(struct scanner *scanner);
bool scan_long_brackets(struct scanner *scanner, size_t offset, bool hidden);
bool scan_raw_string(struct scanner *scanner);
/* Where a here-document is announced; its text is given behind the line's end. */
bool scan_heredoc(struct scanner *scanner);
void scan_give_heredocs(struct scanner *scanner);
bool scan_pattern(struct scanner *scanner);
