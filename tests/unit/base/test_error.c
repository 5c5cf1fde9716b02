/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error and language: texts that fit and are presentable, tables without gaps.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "tap_suite.h"
#include "vocabulary/language.h"

START_TEST(formats)
{
    struct error error;
    ck_assert_int_eq(error_set(&error, ERROR_TIMEOUT, "a %d", 7), -1);
    ck_assert_int_eq(error.code, ERROR_TIMEOUT);
    ck_assert_str_eq(error.message, "a 7");
    ck_assert_str_eq(error.hint, error_code_hint(ERROR_TIMEOUT));
    error_set_hint(&error, "do %s", "this");
    ck_assert_str_eq(error.hint, "do this");
    ck_assert_int_eq(error_add_context(&error, "c%d", 1), -1);
    ck_assert_str_eq(error.message, "c1: a 7");
    ck_assert_int_eq(error_set_errno(&error, ERROR_INTERNAL, ENOENT, "open"), -1);
    ck_assert_str_eq(error.message, "open: No such file or directory");
    error_set_errno(&error, ERROR_INTERNAL, 0, "it is not there");
    ck_assert_str_eq(error.message, "it is not there");
    error_set_errno(&error, ERROR_INTERNAL, 99999, "open");
    ck_assert_str_eq(error.message, "open: error 99999");
}
END_TEST

START_TEST(cuts_and_cleans)
{
    struct error error;
    char text[2048];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memcpy(text + sizeof(error.message) - 2, "\xc3\xa4", 2); /* the cut goes through it */
    error_set(&error, ERROR_INTERNAL, "%s", text);
    ck_assert_uint_eq(strlen(error.message), sizeof(error.message) - 1);
    ck_assert_int_eq(error.message[sizeof(error.message) - 2], '?');
    error_add_context(&error, "%s", text);
    ck_assert_uint_eq(strlen(error.message), sizeof(error.message) - 1);
    error_set(&error, ERROR_INTERNAL, "a\n\x1b[2J\x7f\xff\xc0\x80\xed\xa0\x80 \xc3\xa4 %s",
              "\xf4\x90");
    ck_assert_str_eq(error.message, "a??[2J??????? \xc3\xa4 ??");
}
END_TEST

START_TEST(table_is_whole)
{
    for (int i = 0; i < ERROR_CODE_COUNT; i++) {
        enum error_code code = (enum error_code)i;
        ck_assert_uint_gt(strlen(error_code_name(code)), 0);
        ck_assert_uint_gt(strlen(error_code_meaning(code)), 0);
        ck_assert_uint_gt(strlen(error_code_hint(code)), 0);
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(error_code_name(code), error_code_name((enum error_code)j));
    }
    ck_assert(error_code_retryable(ERROR_TOO_MANY_REQUESTS));
    ck_assert(!error_code_retryable(ERROR_TIMEOUT));
}
END_TEST

static const struct {
    const char *name;
    const char *language; /* NULL: none */
} names[] = {
    {"python", "python"},
    {"python3", "python"},
    {"py", "python"},
    {"Python", "python"},
    {"PY", "python"},
    {"node", "javascript"},
    {"js", "javascript"},
    {"nodejs", "javascript"},
    {"javascript", "javascript"},
    {"ts", "typescript"},
    {"typescript", "typescript"},
    {"shell", "sh"},
    {"sh", "sh"},
    {"bash", "bash"},
    {"zsh", "zsh"},
    {"rb", "ruby"},
    {"ruby", "ruby"},
    {"php", "php"},
    {"perl", "perl"},
    {"pl", "perl"},
    {"lua", "lua"},
    {"r", "r"},
    {"R", "r"},
    {"Rscript", "r"},
    {"", NULL},
    {"python2", NULL},
    {"pyt", NULL},
    {"python ", NULL},
    {"c", NULL},
    {"P\xc3\xbdthon", NULL},
};

START_TEST(finds_languages)
{
    const struct language *language = language_find(names[_i].name);
    if (names[_i].language == NULL)
        ck_assert_ptr_null(language);
    else
        ck_assert_str_eq(language->name, names[_i].language);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("error"), tcase_create("language")};
    tcase_add_test(cases[0], formats);
    tcase_add_test(cases[0], cuts_and_cleans);
    tcase_add_test(cases[0], table_is_whole);
    tcase_add_loop_test(cases[1], finds_languages, 0, COUNT_OF(names));
    return run_suite("error", cases, COUNT_OF(cases));
}
