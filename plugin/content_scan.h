/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program as a row of words, signs and strings, by the table of content_syntax.h. It knows the
 * languages no better than that table: what it cannot tell from code (patterns, here-documents,
 * quote operators, strings over several lines) is given as plain words rather than hidden. Time and
 * memory are linear and constant. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "content_syntax.h"

#define CONTENT_TOKEN_LIMIT 300 /* bytes; a longer one is cut */

/* A word, a sign (one character), or a string: its text between two '"', simple escapes undone. In
 * shells a word is without its quotes. */
struct content_token {
    const char *text; /* borrowed for the call */
    size_t length;
    uint32_t line;   /* from 1 */
    uint32_t column; /* from 1, in bytes */
};

typedef void content_token_taker(void *user, const struct content_token *token);

#define CONTENT_PATTERN_LIMIT 32 /* tokens of one rule */

/* Gives the tokens of a rule's words: of shells, and strings ("\"x\""), each word is one; others
 * may be several, as "os.execute". */
void content_split_rule(const struct content_syntax *syntax, char *const *sequence,
                        content_token_taker *take, void *user);

/* Gives words and signs, whatever they stand in: nothing is a comment or a string. */
void content_scan_plain(const struct content_syntax *syntax, const char *text, size_t length,
                        content_token_taker *take, void *user);

/* Gives each token. false: what began at *ret_line, *ret_column never ends, or it is nested too
 * deeply; the tokens until then were given. */
bool content_scan(const struct content_syntax *syntax, const char *text, size_t length,
                  content_token_taker *take, void *user, uint32_t *ret_line, uint32_t *ret_column);
