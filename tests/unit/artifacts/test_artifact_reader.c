/* SPDX-License-Identifier: Apache-2.0 */
/* artifact_reader: frames that are whole make the same list wherever the stream is cut; each frame
 * that breaks a rule or a bound ends the reading. */
#include <stdlib.h>
#include <string.h>

#include "artifacts/artifact_reader.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define HASH                      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NUMBER(n)                 n "\0\0\0\0\0\0\0"
#define BEGIN(length, size, path) length "\0\0\0\1" NUMBER(size) "\0\0" path
#define DATA(length, bytes)       length "\0\0\0\2" bytes
#define END                       "\x41\0\0\0\3\0" HASH
#define LAST                      "\0\0\0\0\6"
#define BYTES(text)               text, sizeof(text) - 1

static const struct artifact_settings settings = {
    .files = 2, .file_bytes = 8, .total_bytes = 12, .inline_bytes = 5};

struct reading {
    struct artifact_list list;
    bool done;
    bool failed;
};

static void read_frames(const char *bytes, size_t length, size_t cut, struct reading *ret)
{
    static const struct tool_host host = {.user = NULL};
    struct artifact_settings with_host = settings;
    CLEANUP(artifact_reader_clear) struct artifact_reader reader;
    *ret = (struct reading){.done = false};
    with_host.host = &host;
    artifact_reader_init(&reader, &with_host, &ret->list);
    for (size_t at = 0; at < length;) {
        size_t count = length - at < cut ? length - at : cut;
        if (!artifact_reader_feed(&reader, bytes + at, count))
            break;
        at += count;
    }
    ret->failed = reader.failed;
    ret->done = artifact_reader_finish(&reader);
}

static const char whole[] = BEGIN("\x0b", "\3", "a") DATA("\1", "x") DATA("\2", "yz")
    END BEGIN("\x0c", "\6",
              "\xff"
              "b") DATA("\6", "binary") END "\x0b\0\0\0\4" NUMBER("\7") "\1\4l" LAST;

START_TEST(whole_frames_wherever_they_are_cut)
{
    for (size_t cut = 1; cut < sizeof(whole); cut++) {
        struct reading reading;
        read_frames(BYTES(whole), cut, &reading);
        ck_assert(reading.done && !reading.failed);
        ck_assert_uint_eq(reading.list.count, 2);
        const struct artifact *files = reading.list.items;
        ck_assert_str_eq(files[0].path, "a");
        ck_assert_mem_eq(files[0].content, "xyz", 3);
        ck_assert_str_eq(files[0].sha256, HASH);
        ck_assert_str_eq(files[1].path, "\\xffb");
        ck_assert_int_eq(files[1].omission, FILE_UNSAFE_NAME);
        ck_assert_uint_eq(reading.list.omitted_count, 1);
        ck_assert_uint_eq(reading.list.omitted_bytes, 7);
        artifact_list_clear(&reading.list);
    }
}
END_TEST

START_TEST(each_cut_end_is_a_loss)
{
    for (size_t length = 0; length < sizeof(whole) - 1; length++) {
        struct reading reading;
        read_frames(whole, length, length + 1, &reading);
        ck_assert_msg(!reading.done && !reading.failed, "%zu", length);
        for (size_t i = 0; i < reading.list.count; i++)
            ck_assert(reading.list.items[i].omission != FILE_WHOLE ||
                      reading.list.items[i].sha256[0] != '\0');
        artifact_list_clear(&reading.list);
    }
}
END_TEST

static const struct {
    const char *what;
    const char *bytes;
    size_t length;
} broken[] = {
    {"no such kind", BYTES("\0\0\0\0\7")},
    {"kind 0", BYTES("\0\0\0\0\0")},
    {"data without a file", BYTES(DATA("\1", "x"))},
    {"an end without a file", BYTES(END)},
    {"a payload that is too long", BYTES("\xff\xff\xff\xff\4")},
    {"a path that is absolute", BYTES(BEGIN("\x0c", "\1", "/a"))},
    {"a path that leaves", BYTES(BEGIN("\x0e", "\1", "../a"))},
    {"a path with a NUL", BYTES(BEGIN("\x0d", "\1", "a\0b"))},
    {"no path", BYTES(BEGIN("\x0a", "\1", ""))},
    {"a file beyond its limit", BYTES(BEGIN("\x0b", "\x09", "a"))},
    {"files beyond their total",
     BYTES(BEGIN("\x0b", "\7", "a") DATA("\7", "1234567") END BEGIN("\x0b", "\7", "b"))},
    {"more data than announced", BYTES(BEGIN("\x0b", "\1", "a") DATA("\2", "xy"))},
    {"less data than announced", BYTES(BEGIN("\x0b", "\2", "a") DATA("\1", "x") END)},
    {"empty data", BYTES(BEGIN("\x0b", "\1", "a") DATA("\0", ""))},
    {"a file within a file", BYTES(BEGIN("\x0b", "\1", "a") BEGIN("\x0b", "\1", "b"))},
    {"the end within a file", BYTES(BEGIN("\x0b", "\1", "a") LAST)},
    {"an unknown change", BYTES("\x0b\0\0\0\1" NUMBER("\1") "\2\0a")},
    {"an unknown reason", BYTES("\x0b\0\0\0\4" NUMBER("\1") "\0\x63"
                                                            "a")},
    {"an omission without a reason", BYTES("\x0b\0\0\0\4" NUMBER("\1") "\0\0a")},
    {"a hash that is none",
     BYTES(BEGIN("\x0b", "\1", "a") DATA("\1", "x") "\x41\0\0\0\3\0"
                                                    "Z123456789abcdef0123456789abcdef"
                                                    "0123456789abcdef0123456789abcdef")},
    {"a short count", BYTES("\x10\0\0\0\5" NUMBER("\1") NUMBER("\1"))},
};

START_TEST(each_broken_rule_ends_the_reading)
{
    for (size_t cut = 1; cut <= broken[_i].length; cut++) {
        struct reading reading;
        read_frames(broken[_i].bytes, broken[_i].length, cut, &reading);
        ck_assert_msg(reading.failed && !reading.done, "%s, cut by %zu", broken[_i].what, cut);
        artifact_list_clear(&reading.list);
    }
}
END_TEST

START_TEST(what_is_not_inline_is_too_large_without_a_store)
{
    struct reading reading;
    read_frames(BYTES(BEGIN("\x0b", "\6", "a") DATA("\6", "sixsix") END LAST), 64, &reading);
    ck_assert(reading.done);
    ck_assert_int_eq(reading.list.items[0].omission, FILE_TOO_LARGE);
    ck_assert_ptr_null(reading.list.items[0].content);
    artifact_list_clear(&reading.list);
}
END_TEST

int main(void)
{
    TCase *parts[] = {tcase_create("artifact_reader")};
    tcase_add_test(parts[0], whole_frames_wherever_they_are_cut);
    tcase_add_test(parts[0], each_cut_end_is_a_loss);
    tcase_add_loop_test(parts[0], each_broken_rule_ends_the_reading, 0, (int)COUNT_OF(broken));
    tcase_add_test(parts[0], what_is_not_inline_is_too_large_without_a_store);
    return run_suite("artifact_reader", parts, COUNT_OF(parts));
}
