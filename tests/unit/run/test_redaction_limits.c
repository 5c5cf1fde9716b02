/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redaction at its ends: values too short or too many to look for, values with a NUL, the room that
 * output is read into, and memory that is not to be had. Single-threaded.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "redaction/redaction.h"
#include "redaction_reference.h"
#include "tap_suite.h"

void *__real_mmap64(void *address, size_t length, int protection, int flags, int fd,
                    off64_t offset);
void *__wrap_mmap64(void *address, size_t length, int protection, int flags, int fd,
                    off64_t offset);

static int mappings_left = INT_MAX; /* that mmap() still gives */

void *__wrap_mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset)
{
    if (mappings_left == 0) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    mappings_left--;
    return __real_mmap64(address, length, protection, flags, fd, offset);
}

START_TEST(names_and_counts_what_it_found)
{
    struct error error;
    struct text output = {.length = 0};
    CLEANUP(free_redaction) struct redaction *redaction = redaction_new();
    ck_assert(redaction_add(redaction, "one", "1111", 4, &error));
    ck_assert(redaction_add(redaction, "two", "2222", 4, &error));
    struct redaction_stream stream = {.redaction = redaction};
    redaction_feed(&stream, "a11112222b1111", 14, append, &output);
    redaction_flush(&stream, append, &output);
    append(&output, "", 1);
    ck_assert_str_eq(output.bytes, "a[redacted:one][redacted:two]b[redacted:one]");
    ck_assert_uint_eq(stream.found, 3);
}
END_TEST

/* With every cut, each byte goes out as soon as no value can begin with it, and none of a value. */
START_TEST(releases_what_no_value_begins_with)
{
    static const char input[] = "a1b12c123d1234e1123";
    struct error error;
    CLEANUP(free_redaction) struct redaction *redaction = redaction_new();
    ck_assert(redaction_add(redaction, "x", "1234", 4, &error));
    struct text output = {.length = 0};
    struct redaction_stream stream = {.redaction = redaction};
    for (size_t i = 0; i < sizeof(input) - 1; i++) {
        redaction_feed(&stream, input + i, 1, append, &output);
        redaction_release(&stream, append, &output);
        if (strchr("bcde", input[i]))
            ck_assert_int_eq(output.bytes[output.length - 1], input[i]);
    }
    ck_assert_int_eq(output.bytes[output.length - 1], '1'); /* "123" may go on */
    redaction_flush(&stream, append, &output);
    append(&output, "", 1);
    ck_assert_str_eq(output.bytes, "a1b12c123d[redacted:x]e1123");
}
END_TEST

/* A NUL cannot come from a program's environment, but from a file. */
START_TEST(takes_out_a_value_with_a_nul)
{
    static const char value[] = "one\0two";
    static const char *const forms[] = {"one\\u0000two", "one%00two", "6f6e650074776f",
                                        "b25lAHR3b"};
    struct error error;
    struct text input = {.length = 0};
    struct text output;
    CLEANUP(free_redaction) struct redaction *redaction = redaction_new();
    ck_assert(redaction_add(redaction, "x", value, sizeof(value) - 1, &error));
    append(&input, value, sizeof(value) - 1);
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        append_string(&input, forms[i]);
    redact(redaction, &input, 3, 5, &output);
    append(&output, "", 1);
    ck_assert_str_eq(output.bytes, "[redacted][redacted][redacted][redacted][redacted]");
}
END_TEST

/* What is not read is not taken; what is held stays in front of it. */
START_TEST(takes_what_was_put_into_its_room)
{
    static const char *const secrets[] = {"hunter2-hunter2", NULL};
    struct text output = {.length = 0};
    CLEANUP(free_redaction) struct redaction *redaction = redaction_of(secrets);
    struct redaction_stream stream = {.redaction = redaction};
    const char *const parts[] = {"a hunter2", "", "-hun", "ter2 b hunter2-hunter2 c"};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        char *room = redaction_room(&stream, 6000 * (i + 1));
        ck_assert_ptr_nonnull(room);
        memcpy(room, parts[i], strlen(parts[i]));
        redaction_take(&stream, strlen(parts[i]), append, &output);
    }
    redaction_flush(&stream, append, &output);
    append(&output, "", 1);
    ck_assert_str_eq(output.bytes, "a [redacted:x] b [redacted:x] c");
}
END_TEST

START_TEST(does_not_look_for_short_values)
{
    struct error error;
    CLEANUP(free_redaction) struct redaction *redaction = redaction_new();
    ck_assert(redaction_add(redaction, "x", "abc", 3, &error));
    ck_assert(redaction_add(redaction, "x", "", 0, &error));
    ck_assert(redaction_empty(redaction));
}
END_TEST

START_TEST(refuses_more_lines_than_it_can_look_for)
{
    static char lines[8 * 3000 + 1];
    struct error error;
    for (int i = 0; i < 3000; i++)
        (void)sprintf(lines + 8 * i, "%07d\n", i);
    CLEANUP(free_redaction) struct redaction *redaction = redaction_new();
    ck_assert(!redaction_add(redaction, "certificates", lines, sizeof(lines) - 1, &error));
    ck_assert_int_eq(error.code, ERROR_INVALID_INPUT);
    ck_assert_ptr_nonnull(strstr(error.message, "certificates"));
}
END_TEST

/* Each form of a value of that size takes memory of its own: without any of them there is no
 * secret. */
START_TEST(adds_nothing_when_out_of_memory)
{
    enum { FORMS = 15 }; /* those that differ */
    static char value[20000];
    bool added = false;
    int given = 0;
    for (size_t i = 0; i < sizeof(value); i++)
        value[i] = "a/<\"\xC3\xA4! "[i % 8];
    while (!added) {
        struct error error;
        CLEANUP(free_redaction) struct redaction *redaction = redaction_new();
        ck_assert_int_lt(given, FORMS + 10);
        mappings_left = given++;
        added = redaction_add(redaction, "big", value, sizeof(value), &error);
        mappings_left = INT_MAX;
        ck_assert(added || error.code == ERROR_OUT_OF_MEMORY);
        ck_assert(added || strstr(error.message, "big") != NULL);
    }
    ck_assert_int_gt(given, FORMS);
    redaction_free(NULL);
}
END_TEST

START_TEST(passes_nothing_unseen_when_out_of_memory)
{
    static const char *const secrets[] = {"hunter2-hunter2", NULL};
    static char large[100000];
    struct text output = {.length = 0};
    CLEANUP(free_redaction) struct redaction *redaction = redaction_of(secrets);
    struct redaction_stream stream = {.redaction = redaction};
    char before[] = "before: it is longer than the longest form of the secret. hunter2-";
    redaction_feed(&stream, before, sizeof(before) - 1, append, &output);
    ck_assert_uint_gt(output.length, 0);
    before[output.length] = '\0';
    mappings_left = 0;
    ck_assert_ptr_null(redaction_room(&stream, sizeof(large)));
    redaction_feed(&stream, large, sizeof(large), append, &output);
    mappings_left = INT_MAX;
    /* What comes next can be the end of a value that has begun in what was lost. */
    static const char behind[] = "hunter2 behind it is what is longer than any form of the secret";
    redaction_feed(&stream, behind, 9, append, &output);
    redaction_feed(&stream, behind + 9, sizeof(behind) - 1 - 9, append, &output);
    redaction_flush(&stream, append, &output);
    append(&output, "", 1);
    ck_assert(memcmp(output.bytes, before, strlen(before)) == 0);
    const char *rest = output.bytes + strlen(before);
    static const char lost[] = "[output lost: out of memory]";
    ck_assert_msg(strncmp(rest, lost, strlen(lost)) == 0, "%s", rest);
    ck_assert_msg(strstr(rest, "hunter2") == NULL, "%s", rest);
    ck_assert_msg(strstr(rest, "any form of the secret") != NULL, "%s", rest);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("redaction limits")};
    tcase_add_test(cases[0], names_and_counts_what_it_found);
    tcase_add_test(cases[0], releases_what_no_value_begins_with);
    tcase_add_test(cases[0], takes_out_a_value_with_a_nul);
    tcase_add_test(cases[0], takes_what_was_put_into_its_room);
    tcase_add_test(cases[0], does_not_look_for_short_values);
    tcase_add_test(cases[0], refuses_more_lines_than_it_can_look_for);
    tcase_add_test(cases[0], adds_nothing_when_out_of_memory);
    tcase_add_test(cases[0], passes_nothing_unseen_when_out_of_memory);
    return run_suite("redaction limits", cases, COUNT_OF(cases));
}
