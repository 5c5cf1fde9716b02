/* SPDX-License-Identifier: Apache-2.0 */
/* The table of syntaxes. Constant data; runs in the gateway on any thread. */
#include "content_syntax.h"

#include <stddef.h>
#include <string.h>

#include "cleanup.h"

#define SHELL(name)                                                   \
    {                                                                 \
        .language = (name), .line_comments = {"#"}, .is_shell = true, \
        .heredoc = CONTENT_HEREDOC_SHELL                              \
    }

#define ECMASCRIPT(name)                                                                      \
    {                                                                                         \
        .language = (name), .line_comments = {"//"}, .block_open = "/*", .block_close = "*/", \
        .quotes = "'\"`", .lines = true, .hole = "${", .hole_quotes = "`", .hole_close = '}', \
        .word_more = "$", .regex = CONTENT_REGEX_SLASH                                        \
    }

static const struct content_syntax syntaxes[] = {
    ECMASCRIPT("javascript"),
    ECMASCRIPT("typescript"),
    SHELL("sh"),
    SHELL("bash"),
    SHELL("zsh"),
    {.language = "ruby",
     .line_comments = {"#"},
     .quotes = "'\"`",
     .hole = "#{",
     .hole_quotes = "\"`",
     .hole_close = '}',
     .block_lines = "=begin",
     .block_lines_end = "=end",
     .block_lines_hidden = true,
     .has_percent = true,
     .regex = CONTENT_REGEX_SLASH,
     .heredoc = CONTENT_HEREDOC_TIGHT},
    {.language = "php",
     .line_comments = {"//", "#"},
     .block_open = "/*",
     .block_close = "*/",
     .quotes = "'\"`",
     .is_template = true,
     .heredoc = CONTENT_HEREDOC_PHP},
    {.language = "perl",
     .line_comments = {"#"},
     .quotes = "'\"`",
     .block_lines = "=",
     .block_lines_end = "=cut",
     .has_quote_words = true,
     .regex = CONTENT_REGEX_SLASH,
     .heredoc = CONTENT_HEREDOC_TIGHT},
    {.language = "lua",
     .line_comments = {"--"},
     .quotes = "'\"",
     .lines = true,
     .has_long_brackets = true},
    {.language = "r",
     .line_comments = {"#"},
     .quotes = "'\"",
     .word_quotes = "`",
     .word_more = ".",
     .has_raw_strings = true},
};

const struct content_syntax *content_syntax_find(const char *language)
{
    for (size_t i = 0; i < COUNT_OF(syntaxes); i++)
        if (strcmp(syntaxes[i].language, language) == 0)
            return &syntaxes[i];
    return NULL;
}
