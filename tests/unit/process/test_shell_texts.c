/* SPDX-License-Identifier: Apache-2.0 */
/* What a shell of a session is told, and what of its answers becomes the end of a cell. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "interpreter/shell/defined_names.h"
#include "interpreter/shell/shell.h"
#include "tap_suite.h"

#define LIST(...) ((char **)(uintptr_t)(const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* The text ends with a NUL, and is the caller's. */
static char *written(char *const *arguments, char *const *variables)
{
    struct wire_writer text = {.limit = 4096};
    begin_text_write(&text, arguments, variables, 0);
    wire_put_raw(&text, "", 1);
    ck_assert(!text.failed);
    return (char *)text.bytes;
}

START_TEST(arguments_are_words)
{
    CLEANUP_FREE char *none = written(LIST(), LIST());
    CLEANUP_FREE char *some = written(LIST("a b", "it's", "", "$(x)\n"), LIST());
    ck_assert_str_eq(none, "_ce_back=''\nset --\n");
    ck_assert_str_eq(some, "_ce_back=''\nset -- 'a b' 'it'\\''s' '' '$(x)\n'\n");
}
END_TEST

START_TEST(variables_come_and_go)
{
    CLEANUP_FREE char *text = written(LIST(), LIST("KEY=a'b"));
    ck_assert_str_eq(text,
                     "_ce_had_KEY=${KEY+x} _ce_old_KEY=${KEY-}\n"
                     "_ce_back='case $_ce_had_KEY in x) KEY=$_ce_old_KEY ;; *) unset KEY ;; esac\n"
                     "unset _ce_had_KEY _ce_old_KEY\n"
                     "'\n"
                     "export KEY='a'\\''b'\n"
                     "set --\n");
}
END_TEST

/* What no shell can have is left out, as it would be code. */
START_TEST(names_that_are_none)
{
    static const char *const rows[] = {"=x", "1A=x", "A B=x", "A;reboot=x", "A-B=x", "A", ""};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP_FREE char *name = strdup(rows[i]);
        CLEANUP_FREE char *text = written(LIST(), LIST(name));
        ck_assert_str_eq(text, "_ce_back=''\nset --\n");
    }
}
END_TEST

static void tell(struct defined_names *names, char *const *told)
{
    for (; *told; told++)
        defined_names_add(names, *told);
}

static void expect_end(const struct defined_names *names, uint32_t exit_code, bool home_is_empty,
                       const char *payload)
{
    struct wire_writer frame = {.limit = 65536};
    defined_names_write_end(names, exit_code, home_is_empty, &frame);
    ck_assert(!frame.failed);
    size_t length = strlen(payload);
    const unsigned char begin[] = {(unsigned char)length, (unsigned char)(length >> 8), 0, 0, 4};
    ck_assert_uint_eq(frame.length, sizeof(begin) + length);
    ck_assert_mem_eq(frame.bytes, begin, sizeof(begin));
    ck_assert_mem_eq(frame.bytes + sizeof(begin), payload, length);
    free(frame.bytes);
}

START_TEST(only_new_names_are_told)
{
    struct defined_names names = {.begun = false};
    tell(&names, LIST("HOME", "trap"));
    defined_names_begin(&names);
    tell(&names, LIST("HOME", "trap", "x", "_y", "OLDPWD", "BASH_REMATCH", "a\"b", "do-it"));
    expect_end(&names, 3, false, "{\"exit_code\":3,\"defined\":[\"x\",\"do-it\"]}");
    expect_end(&names, 1, true,
               "{\"exit_code\":1,\"defined\":[\"x\",\"do-it\"],\"home_is_empty\":true}");
    defined_names_forget(&names);
    expect_end(&names, 255, false, "{\"exit_code\":255,\"defined\":[]}");
    string_list_free(names.known);
}
END_TEST

START_TEST(long_and_many_names)
{
    struct defined_names names = {.begun = false};
    char name[102];
    memset(name, 'a', sizeof(name) - 1);
    name[101] = '\0';
    defined_names_begin(&names);
    tell(&names, LIST(name, &name[1]));
    for (int i = 0; i < 199; i++)
        defined_names_add(&names, "b");
    defined_names_add(&names, "last");
    struct wire_writer frame = {.limit = 65536};
    defined_names_write_end(&names, 0, false, &frame);
    ck_assert_uint_eq(frame.length, 5 + strlen("{\"exit_code\":0,\"defined\":[]}") +
                                        199 * strlen("\"b\",") + strlen("\"last\""));
    free(frame.bytes);
    defined_names_forget(&names);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("shell texts");
    tcase_add_test(cases, arguments_are_words);
    tcase_add_test(cases, variables_come_and_go);
    tcase_add_test(cases, names_that_are_none);
    tcase_add_test(cases, only_new_names_are_told);
    tcase_add_test(cases, long_and_many_names);
    return run_suite("shell texts", &cases, 1);
}
