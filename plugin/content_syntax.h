/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a language's syntax has to be known to tell its words from its comments and strings: a
 * table, for the rules on words of the content checks. Constant data, any thread.
 */
#pragma once

#include <stdbool.h>

enum content_regex { CONTENT_REGEX_NONE, CONTENT_REGEX_SLASH };
enum content_heredoc {
    CONTENT_HEREDOC_NONE,
    CONTENT_HEREDOC_SHELL, /* <<WORD, <<-WORD */
    CONTENT_HEREDOC_TIGHT, /* the same right before a name or a quote, <<~WORD */
    CONTENT_HEREDOC_PHP,   /* <<<WORD */
};

struct content_syntax {
    const char *language;
    const char *line_comments[3]; /* NULL-terminated; each to the end of its line */
    const char *block_open;       /* NULL: none */
    const char *block_close;
    const char *quotes;      /* of strings; NULL: none */
    const char *word_quotes; /* what is between two is a word */
    bool lines;              /* a string ends with its line, as an unclosed one */
    const char *hole;        /* opens code in a string: "${", "#{" */
    const char *hole_quotes; /* in strings of these */
    char hole_close;
    const char *word_more;       /* characters of words beside letters, digits, "_" */
    const char *block_lines;     /* from a line that begins with it ... */
    const char *block_lines_end; /* ... to the one that begins with this */
    bool block_lines_hidden;     /* a comment wherever it is */
    bool is_shell;               /* quotes are parts of words */
    bool is_template;            /* code is between <?php and ?> */
    bool has_long_brackets;      /* [==[ ]==] */
    bool has_raw_strings;        /* r"(...)" */
    bool has_quote_words;        /* q(...), qw(...), s{}{} */
    bool has_percent;            /* %q(...) */
    enum content_regex regex;
    enum content_heredoc heredoc;
};

/* NULL: the language has no rules on words. */
const struct content_syntax *content_syntax_find(const char *language);
