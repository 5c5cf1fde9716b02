/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a structure's members: each kind comes back as it was sent, and no value that its row
 * does not take is read. One thread. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "protocol/wire_fields.h"
#include "tap_suite.h"

struct parts {
    uint32_t small;
    uint64_t large;
    int32_t negative;
    char text[8];
    char *string;
    char *path;
    char **strings;
    char **paths;
    struct wire_bytes bytes;
    struct {
        uint32_t length;
        unsigned char bytes[4];
    } counted;
};

static const struct wire_field fields[] = {
    WIRE_NUMBER(struct parts, small, 7),
    WIRE_NUMBER(struct parts, large, UINT64_C(1) << 40),
    WIRE_NUMBER(struct parts, negative, UINT32_MAX),
    WIRE_TEXT(struct parts, text),
    WIRE_STRING(struct parts, string, 4),
    WIRE_PATH(struct parts, path, 8),
    WIRE_STRINGS(struct parts, strings, 2, 4),
    WIRE_PATHS(struct parts, paths, 2, 8),
    WIRE_BYTES(struct parts, bytes, 4),
    WIRE_COUNTED(struct parts, counted),
};

static char four[] = "four", path[] = "/a", empty[] = "";
static char *strings[] = {empty, four, NULL};
static char *paths[] = {path, NULL};
static unsigned char some[] = {0, 1, 255, 0, 7};

static struct parts acceptable(void)
{
    return (struct parts){7,    UINT64_C(1) << 40, -5,    "seventh", four,
                          path, strings,           paths, {some, 4}, {3, "\0b"}};
}

static size_t message_length;

/* The way through a message, of which only so many bytes are read. */
static bool survives(const struct parts *parts, size_t kept, struct parts *ret)
{
    struct wire_writer writer = {.limit = 4096};
    wire_put_fields(&writer, fields, COUNT_OF(fields), parts);
    ck_assert(!writer.failed);
    struct wire_reader reader = {.bytes = writer.bytes,
                                 .length = kept < writer.length ? kept : writer.length};
    *ret = (struct parts){0};
    wire_get_fields(&reader, fields, COUNT_OF(fields), ret);
    bool whole = !reader.failed && reader.offset == writer.length;
    message_length = writer.length;
    free(writer.bytes);
    return whole;
}

static bool is_taken(const struct parts *parts)
{
    struct parts read;
    bool taken = survives(parts, SIZE_MAX, &read);
    wire_release_fields(fields, COUNT_OF(fields), &read);
    return taken;
}

START_TEST(each_kind_comes_back)
{
    struct parts sent = acceptable();
    struct parts read;
    ck_assert(survives(&sent, SIZE_MAX, &read));
    ck_assert_uint_eq(read.small, 7);
    ck_assert_uint_eq(read.large, UINT64_C(1) << 40);
    ck_assert_int_eq(read.negative, -5);
    ck_assert_str_eq(read.text, "seventh");
    ck_assert_str_eq(read.string, "four");
    ck_assert_str_eq(read.path, "/a");
    ck_assert_str_eq(read.strings[0], "");
    ck_assert_str_eq(read.strings[1], "four");
    ck_assert_ptr_null(read.strings[2]);
    ck_assert_str_eq(read.paths[0], "/a");
    ck_assert_uint_eq(read.bytes.length, 4);
    ck_assert_mem_eq(read.bytes.bytes, some, 4);
    ck_assert_uint_eq(read.counted.length, 3);
    ck_assert_mem_eq(read.counted.bytes, "\0b", 3);
    wire_release_fields(fields, COUNT_OF(fields), &read);
    ck_assert_ptr_null(read.string);
    ck_assert_ptr_null(read.paths);
    ck_assert_ptr_null(read.bytes.bytes);
    wire_release_fields(fields, COUNT_OF(fields), &read);
}
END_TEST

START_TEST(nothing_is_written_as_empty)
{
    struct parts sent = {.small = 1};
    struct parts read;
    ck_assert(survives(&sent, SIZE_MAX, &read));
    ck_assert_str_eq(read.string, "");
    ck_assert_str_eq(read.path, "");
    ck_assert_ptr_null(read.strings[0]);
    wire_release_fields(fields, COUNT_OF(fields), &read);
}
END_TEST

START_TEST(a_message_cut_anywhere_is_refused)
{
    struct parts sent = acceptable();
    struct parts read;
    size_t kept = 0;
    for (; !survives(&sent, kept, &read); kept++)
        wire_release_fields(fields, COUNT_OF(fields), &read);
    wire_release_fields(fields, COUNT_OF(fields), &read);
    ck_assert_uint_eq(kept, message_length);
}
END_TEST

START_TEST(values_beyond_their_rows_are_refused)
{
    static char long_string[] = "fives", long_path[] = "/too/long", relative[] = "a";
    char *long_list[] = {four, four, four, NULL};
    char *long_members[] = {long_string, NULL};
    char *relative_list[] = {path, relative, NULL};
    char *empty_member[] = {empty, NULL};
    struct parts good = acceptable();
    struct parts bad[] = {good, good, good, good, good, good, good, good, good, good};
    bad[0].small = 8;
    bad[1].large++;
    bad[2].string = long_string;
    bad[3].path = long_path;
    bad[4].path = relative;
    bad[5].strings = long_list;
    bad[6].strings = long_members;
    bad[7].paths = relative_list;
    bad[8].paths = empty_member;
    bad[9].bytes.length = sizeof(some);
    ck_assert(is_taken(&good));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        HOLDS(!is_taken(&bad[i]), "value %zu was taken", i);
}
END_TEST

START_TEST(a_count_beyond_its_array_is_not_written)
{
    struct parts parts = acceptable();
    struct wire_writer writer = {.limit = 4096};
    parts.counted.length = 5;
    wire_put_fields(&writer, fields, COUNT_OF(fields), &parts);
    ck_assert(writer.failed);
    free(writer.bytes);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("wire fields");
    tcase_add_test(cases, each_kind_comes_back);
    tcase_add_test(cases, nothing_is_written_as_empty);
    tcase_add_test(cases, a_message_cut_anywhere_is_refused);
    tcase_add_test(cases, values_beyond_their_rows_are_refused);
    tcase_add_test(cases, a_count_beyond_its_array_is_not_written);
    return run_suite("wire fields", &cases, 1);
}
