/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closed set of languages and their aliases. Constant data; runs in the gateway on any thread.
 */
#include "vocabulary/language.h"

#include "base/cleanup.h"

static const char *const none[] = {NULL};
static const char *const python_aliases[] = {"python3", "py", NULL};
static const char *const javascript_aliases[] = {"node", "js", "nodejs", NULL};
static const char *const typescript_aliases[] = {"ts", NULL};
static const char *const sh_aliases[] = {"shell", NULL};
static const char *const ruby_aliases[] = {"rb", NULL};
static const char *const perl_aliases[] = {"pl", NULL};
static const char *const r_aliases[] = {"Rscript", NULL};

static const struct language languages[] = {
    {.name = "python",
     .aliases = python_aliases,
     .has_results = true,
     .runner = RUN_INTERPRETER_PYTHON},
    {.name = "javascript",
     .aliases = javascript_aliases,
     .has_results = true,
     .runner = RUN_INTERPRETER_NODE},
    {.name = "typescript", .aliases = typescript_aliases},
    {.name = "sh", .aliases = sh_aliases, .runner = RUN_RUNNER_SHELL},
    {.name = "bash", .aliases = none, .runner = RUN_RUNNER_SHELL},
    {.name = "zsh", .aliases = none},
    {.name = "ruby", .aliases = ruby_aliases},
    {.name = "php", .aliases = none},
    {.name = "perl", .aliases = perl_aliases},
    {.name = "lua", .aliases = none},
    {.name = "r", .aliases = r_aliases},
};

const struct language *languages_all(size_t *ret_count)
{
    *ret_count = COUNT_OF(languages);
    return languages;
}

/* strcasecmp() follows the host's locale. */
static int ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

static bool equal_ignoring_case(const char *left, const char *right)
{
    while (*left != '\0' && ascii_lower(*left) == ascii_lower(*right)) {
        left++;
        right++;
    }
    return ascii_lower(*left) == ascii_lower(*right);
}

const struct language *language_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(languages); i++) {
        if (equal_ignoring_case(languages[i].name, name))
            return &languages[i];
        for (const char *const *alias = languages[i].aliases; *alias; alias++) {
            if (equal_ignoring_case(*alias, name))
                return &languages[i];
        }
    }
    return NULL;
}
