/* SPDX-License-Identifier: Apache-2.0 */
/* What interpreters say when a library is not there, as they said it. */
#include <check.h>

#include "base/cleanup.h"
#include "result/run_notes.h"
#include "tap_suite.h"

static const struct {
    const char *language;
    const char *errors;
    const char *name; /* NULL: none is missing */
} cases[] = {
    {"python",
     "Traceback (most recent call last):\n  File \"/home/sandbox/main.py\", line 1, in <module>\n"
     "    import torch\nModuleNotFoundError: No module named 'torch'\n",
     "torch"},
    {"python", "ModuleNotFoundError: No module named 'a.b'\n", "a.b"},
    {"python", "ModuleNotFoundError: No module named 'a b'\n", NULL},
    {"python", "ModuleNotFoundError: No module named '", NULL},
    {"python", "ModuleNotFoundError: No module named ''\n", NULL},
    {"python", "Cannot find module 'x'\n", NULL},
    {"python", "ZeroDivisionError: division by zero\n", NULL},
    {"python", "", NULL},
    {"javascript", "Error: Cannot find module 'lodash'\nRequire stack:\n", "lodash"},
    {"javascript", "Error [ERR_MODULE_NOT_FOUND]: Cannot find package '@x/y' imported", "@x/y"},
    {"ruby", "main.rb:1:in `require': cannot load such file -- nokogiri (LoadError)\n", "nokogiri"},
    {"perl", "Can't locate JSON/XS.pm in @INC (you may need to install the JSON::XS module)",
     "JSON/XS.pm"},
    {"lua", "lua: main.lua:1: module 'socket' not found:\n", "socket"},
    {"r",
     "Error in library(dplyr) : there is no package called \xe2\x80\x98"
     "dplyr\xe2\x80\x99\n",
     "dplyr"},
    {"sh", "sh: 1: ModuleNotFoundError: No module named 'x'\n", NULL},
};

START_TEST(names_what_is_missing)
{
    char name[MISSING_MODULE_LIMIT + 1] = "untouched";
    bool found = missing_module_find(cases[_i].language, cases[_i].errors, name);
    ck_assert(found == (cases[_i].name != NULL));
    ck_assert_str_eq(name, found ? cases[_i].name : "untouched");
}
END_TEST

START_TEST(a_name_too_long_is_none)
{
    char errors[256] = "ModuleNotFoundError: No module named '";
    char name[MISSING_MODULE_LIMIT + 1];
    size_t begin = strlen(errors);
    memset(errors + begin, 'x', MISSING_MODULE_LIMIT + 1);
    errors[begin + MISSING_MODULE_LIMIT + 1] = '\'';
    ck_assert(!missing_module_find("python", errors, name));
    errors[begin + MISSING_MODULE_LIMIT] = '\'';
    ck_assert(missing_module_find("python", errors, name));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("missing module");
    tcase_add_loop_test(tests, names_what_is_missing, 0, COUNT_OF(cases));
    tcase_add_test(tests, a_name_too_long_is_none);
    return run_suite("missing module", &tests, 1);
}
