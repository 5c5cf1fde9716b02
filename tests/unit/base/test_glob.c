/* SPDX-License-Identifier: Apache-2.0 */
/* glob: each kind of wildcard by hand, its hidden files, and a pattern that would take an
 * exponential matcher for ever. */
#include <string.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "tap_suite.h"

static const struct {
    const char *pattern;
    const char *path;
    bool matches;
} cases[] = {
    {"a", "a", true},
    {"a", "b", false},
    {"a", "a/b", false},
    {"a/b", "a", false},
    {"*.csv", "a.csv", true},
    {"*.csv", ".csv", false},
    {"*.csv", "d/a.csv", false},
    {"*", ".hidden", false},
    {".*", ".hidden", true},
    {"a*b*c", "aXbYbZc", true},
    {"a*b*c", "aXbYbZ", false},
    {"a?c", "abc", true},
    {"a?c",
     "a\xc3\xa4"
     "c",
     true},
    {"a?c", "ac", false},
    {"?a", ".a", false},
    {"[a-c]x", "bx", true},
    {"[!a-c]x", "bx", false},
    {"[!a-c]x", "dx", true},
    {"[]]x", "]x", true},
    {"[!]]x", "ax", true},
    {"[x", "[x", true},
    {"[-a]", "-", true},
    {"[.]a", ".a", false},
    {"**", "a/b/c", true},
    {"**", "a/.b/c", false},
    {"**/*.csv", "a.csv", true},
    {"**/*.csv", "d/e/a.csv", true},
    {"**/*.csv", "d/.e/a.csv", false},
    {"**/.e/*", "d/.e/a.csv", true},
    {"out/**", "out/a/b", true},
    {"out/**", "out", false},
    {"out/**", "out/.a", false},
    {"a/**/z", "a/z", true},
    {"a/**/z", "a/b/c/z", true},
    {"a/**/z", "a/b/c/y", false},
    {"**/x/**/y", "a/x/b/x/c/y", true},
    {"a**", "ab", true},
    {"a**", "a/b", false},
    {"/a/*", "/a/b", true},
    {"/a/*", "a/b", false},
    {"/a/*", "/a/", true},
    {"/a", "/a/", false},
    {"/**", "/", true},
    {"/**", "/a/b", true},
    {"**", "/a/b", true},
    {"/*/b", "/a/b", true},
    {"/*/b", "//b", true},
    {"/*/b", "/a/c/b", false},
};

START_TEST(wildcard)
{
    ck_assert_msg(glob_matches(cases[_i].pattern, cases[_i].path) == cases[_i].matches, "%s %s",
                  cases[_i].pattern, cases[_i].path);
}
END_TEST

START_TEST(many_stars_take_no_time)
{
    char pattern[256];
    char path[1024];
    memset(path, 'a', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    for (size_t i = 0; i < sizeof(pattern) - 3; i += 2)
        memcpy(&pattern[i], "*a", 2);
    memcpy(&pattern[sizeof(pattern) - 4], "*b", 3);
    ck_assert(!glob_matches(pattern, path));
    for (size_t i = 1; i < sizeof(path) - 1; i += 2)
        path[i] = '/';
    for (size_t i = 0; i + 4 < sizeof(pattern) - 4; i += 5)
        memcpy(&pattern[i], "**/a/", 5);
    ck_assert(!glob_matches(pattern, path));
}
END_TEST

int main(void)
{
    TCase *parts[] = {tcase_create("glob")};
    tcase_add_loop_test(parts[0], wildcard, 0, (int)COUNT_OF(cases));
    tcase_add_test(parts[0], many_stars_take_no_time);
    return run_suite("glob", parts, COUNT_OF(parts));
}
