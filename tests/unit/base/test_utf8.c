/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8: each kind of sequence by hand, and everything random against jansson, which has a decoder
 * of its own.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../support/random.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "tap_suite.h"

#define RANDOM_TEXTS 20000

static const struct {
    const char *bytes;
    size_t length;
    size_t sequence; /* 0: none is valid here */
} sequences[] = {
    {"", 0, 0},
    {"\0", 1, 1},
    {"\x7F", 1, 1},
    {"\x80", 1, 0},
    {"\xBF", 1, 0},
    {"\xC0\x80", 2, 0},
    {"\xC1\xBF", 2, 0},
    {"\xC2\x80", 2, 2},
    {"\xC2", 1, 0},
    {"\xC2\x7F", 2, 0},
    {"\xC2\xC0", 2, 0},
    {"\xDF\xBF", 2, 2},
    {"\xDF\xBF\x80", 3, 2},
    {"\xE0\x80\x80", 3, 0},
    {"\xE0\x9F\xBF", 3, 0},
    {"\xE0\xA0\x80", 3, 3},
    {"\xE0\xA0", 2, 0},
    {"\xE0\xA0\x7F", 3, 0},
    {"\xEC\xBF\xBF", 3, 3},
    {"\xED\x9F\xBF", 3, 3},
    {"\xED\xA0\x80", 3, 0},
    {"\xED\xBF\xBF", 3, 0},
    {"\xEE\x80\x80", 3, 3},
    {"\xEF\xBF\xBF", 3, 3},
    {"\xF0\x80\x80\x80", 4, 0},
    {"\xF0\x8F\xBF\xBF", 4, 0},
    {"\xF0\x90\x80\x80", 4, 4},
    {"\xF0\x90\x80", 3, 0},
    {"\xF0\x90\x80\x7F", 4, 0},
    {"\xF3\xBF\xBF\xBF", 4, 4},
    {"\xF4\x8F\xBF\xBF", 4, 4},
    {"\xF4\x90\x80\x80", 4, 0},
    {"\xF5\x80\x80\x80", 4, 0},
    {"\xF8\x88\x80\x80\x80", 5, 0},
    {"\xFE", 1, 0},
    {"\xFF", 1, 0},
};

START_TEST(finds_sequences)
{
    const unsigned char *bytes = (const unsigned char *)sequences[_i].bytes;
    ck_assert_uint_eq(utf8_sequence(bytes, sequences[_i].length), sequences[_i].sequence);
}
END_TEST

static bool jansson_accepts(const void *bytes, size_t length)
{
    json_auto_t *string = json_stringn(bytes, length);
    return string != NULL;
}

START_TEST(agrees_with_jansson_on_every_code_of_two_bytes)
{
    for (unsigned value = 0; value <= 0xFFFF; value++) {
        const unsigned char bytes[] = {(unsigned char)(value >> 8), (unsigned char)value};
        size_t first = utf8_sequence(bytes, 2);
        bool valid = first == 2 || (first == 1 && utf8_sequence(bytes + 1, 1) == 1);
        ck_assert_msg(valid == jansson_accepts(bytes, 2), "%04x", value);
    }
}
END_TEST

/* Bytes that look like UTF-8 more often than chance would have it. */
static size_t random_text(uint64_t *state, unsigned char bytes[32])
{
    static const unsigned char likely[] = {'a',  0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2,
                                           0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0x00};
    size_t length = random_below(state, 32);
    for (size_t i = 0; i < length; i++)
        bytes[i] = random_below(state, 8) == 0 ? (unsigned char)random_next(state)
                                               : likely[random_below(state, COUNT_OF(likely))];
    return length;
}

START_TEST(sanitizes_everything)
{
    uint64_t state = 1;
    for (int i = 0; i < RANDOM_TEXTS; i++) {
        unsigned char bytes[32];
        size_t length = random_text(&state, bytes);
        size_t clean_length = 0;
        bool replaced = false;
        CLEANUP_FREE char *clean = utf8_sanitize(bytes, length, &clean_length, &replaced);
        ck_assert_ptr_nonnull(clean);
        ck_assert_int_eq(clean[clean_length], '\0');
        ck_assert(jansson_accepts(clean, clean_length));
        ck_assert_uint_le(clean_length, 3 * length);
        bool was_valid = jansson_accepts(bytes, length);
        ck_assert_int_eq(replaced, !was_valid);
        if (was_valid)
            ck_assert(clean_length == length && memcmp(clean, bytes, length) == 0);
    }
}
END_TEST

START_TEST(replaces_byte_by_byte)
{
    size_t length = 0;
    bool replaced = false;
    CLEANUP_FREE char *clean =
        utf8_sanitize((const unsigned char *)"a\xE2\x82z\xFF\xC3\xA4", 7, &length, &replaced);
    ck_assert_str_eq(clean, "a\xEF\xBF\xBD\xEF\xBF\xBDz\xEF\xBF\xBD\xC3\xA4");
    ck_assert(replaced);
}
END_TEST

/* One character of each length; cuts at every place of a text made of them. */
START_TEST(cuts_on_edges)
{
    static const char text[] = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z";
    static const size_t edges[] = {0, 1, 3, 6, 10, 11};
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t cut = 0; cut < sizeof(text); cut++) {
        size_t below = 0;
        size_t above = sizeof(text) - 1;
        for (size_t i = 0; i < COUNT_OF(edges); i++) {
            if (edges[i] <= cut)
                below = edges[i];
            if (edges[i] >= cut && edges[i] < above)
                above = edges[i];
        }
        ck_assert_uint_eq(utf8_whole_prefix(bytes, cut), below);
        ck_assert_uint_eq(utf8_continuation_prefix(bytes + cut, sizeof(text) - 1 - cut),
                          above - cut);
    }
}
END_TEST

START_TEST(cuts_of_what_is_not_utf8_stay_small)
{
    uint64_t state = 2;
    for (int i = 0; i < RANDOM_TEXTS; i++) {
        unsigned char bytes[32];
        size_t length = random_text(&state, bytes);
        size_t prefix = utf8_whole_prefix(bytes, length);
        ck_assert_uint_le(prefix, length);
        ck_assert_uint_le(length - prefix, 3);
        size_t skipped = utf8_continuation_prefix(bytes, length);
        ck_assert_uint_le(skipped, length < 3 ? length : 3);
    }
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("utf8")};
    tcase_add_loop_test(cases[0], finds_sequences, 0, COUNT_OF(sequences));
    tcase_add_test(cases[0], agrees_with_jansson_on_every_code_of_two_bytes);
    tcase_add_test(cases[0], sanitizes_everything);
    tcase_add_test(cases[0], replaces_byte_by_byte);
    tcase_add_test(cases[0], cuts_on_edges);
    tcase_add_test(cases[0], cuts_of_what_is_not_utf8_stay_small);
    return run_suite("utf8", cases, COUNT_OF(cases));
}
