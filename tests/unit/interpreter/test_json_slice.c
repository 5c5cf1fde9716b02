/* SPDX-License-Identifier: Apache-2.0 */
/* json_slice: members and elements in each place, the characters of strings, and texts that are cut
 * off at each byte. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "interpreter/tool_command/json_slice.h"
#include "tap_suite.h"

static const char listing[] = " [{\"name\":\"a\\\"]}\", \"schema\": {\"name\": [1, \"}\", {}], "
                              "\"x\": \"[\"}, \"more\": true},\n"
                              "{\"schema\":{},\"name\":\"b\"}, 7 , \"t\\\\\", [] ]";

static struct json_slice slice(const char *text)
{
    return (struct json_slice){text, strlen(text)};
}

static bool is(struct json_slice part, const char *text)
{
    return part.length == strlen(text) && memcmp(part.at, text, part.length) == 0;
}

START_TEST(elements_and_members)
{
    struct json_slice left = json_slice_open(slice(listing));
    struct json_slice first;
    struct json_slice second;
    struct json_slice part;
    ck_assert(json_slice_next(&left, &first) && json_slice_next(&left, &second));
    ck_assert(json_slice_member(first, "name", &part) && is(part, "\"a\\\"]}\""));
    ck_assert(json_slice_member(first, "more", &part) && is(part, "true"));
    ck_assert(json_slice_member(first, "schema", &part));
    ck_assert(json_slice_member(part, "x", &part) && is(part, "\"[\""));
    ck_assert(!json_slice_member(first, "x", &part) && !json_slice_member(first, "nam", &part));
    ck_assert(json_slice_member(second, "name", &part) && is(part, "\"b\""));
    ck_assert(json_slice_next(&left, &part) && is(part, "7"));
    ck_assert(!json_slice_member(part, "name", &first));
    ck_assert(json_slice_next(&left, &part) && is(part, "\"t\\\\\""));
    ck_assert(json_slice_next(&left, &part) && is(part, "[]"));
    ck_assert(!json_slice_next(&left, &part));
}
END_TEST

static const struct {
    const char *json;
    const char *text; /* NULL: it is no string */
} strings[] = {
    {"\"\"", ""},
    {"\"plain \xc3\xa4\"", "plain \xc3\xa4"},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
    {"\"\\u0041\\u00e4\\u20AC\"", "A\xc3\xa4\xe2\x82\xac"},
    {"\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!"},
    {"\"\\ud83dx\"", "\xed\xa0\xbdx"},
    {"\"\\ud83d\\u0041\"", "\xed\xa0\xbd"
                           "A"},
    {"\"\\u12\"", "u12"},
    {"\"\\u12g4\"", "u12g4"},
    {"\"", NULL},
    {"\"a\\\"", NULL},
    {"\"a\"b\"", NULL},
    {"7", NULL},
    {"", NULL},
};

START_TEST(texts_of_strings)
{
    CLEANUP_FREE char *text = json_slice_text(slice(strings[_i].json));
    ck_assert(!text == !strings[_i].text);
    if (text)
        ck_assert_str_eq(text, strings[_i].text);
}
END_TEST

/* Copied to its exact size, so that a reader that goes beyond it is seen by a sanitizer. */
static void read_all(const char *text, size_t length)
{
    CLEANUP_FREE char *copy = malloc(length > 0 ? length : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, length);
    struct json_slice left = json_slice_open((struct json_slice){copy, length});
    struct json_slice part;
    struct json_slice member;
    size_t count = 0;
    while (json_slice_next(&left, &part)) {
        CLEANUP_FREE char *string = json_slice_text(part);
        (void)json_slice_member(part, "name", &member);
        ck_assert(!string || strlen(string) <= part.length);
        ck_assert_uint_le(part.length, length);
        ck_assert_uint_le(++count, length);
    }
}

START_TEST(texts_that_are_cut_off_or_changed)
{
    static const char other[] = {'"', '\\', '{', ']', ',', '\0', '\xff'};
    char text[sizeof(listing)];
    for (size_t length = 0; length < sizeof(listing); length++) {
        read_all(listing, length);
        for (size_t i = 0; i < sizeof(other); i++) {
            memcpy(text, listing, sizeof(listing));
            text[length] = other[i];
            read_all(text, sizeof(text) - 1);
        }
    }
}
END_TEST

int main(void)
{
    TCase *parts[] = {tcase_create("json slice")};
    tcase_add_test(parts[0], elements_and_members);
    tcase_add_loop_test(parts[0], texts_of_strings, 0, (int)COUNT_OF(strings));
    tcase_add_test(parts[0], texts_that_are_cut_off_or_changed);
    return run_suite("json_slice", parts, COUNT_OF(parts));
}
