/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redaction against its reference: every place where a read may end, secrets that overlap, touch,
 * and stand at either end. Single-threaded.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../support/random.h"
#include "base/cleanup.h"
#include "redaction/redaction.h"
#include "redaction_reference.h"
#include "tap_suite.h"

#define SECRETS_LIMIT 4

static void expect_same(const struct text *output, const struct text *wanted, size_t split)
{
    HOLDS(output->length == wanted->length &&
              memcmp(output->bytes, wanted->bytes, wanted->length) == 0,
          "split at %zu: %.*s, not %.*s", split, (int)output->length, output->bytes,
          (int)wanted->length, wanted->bytes);
}

static void check_every_split(const char *const *secrets, const struct text *input)
{
    static struct patterns patterns;
    patterns.count = 0;
    for (size_t i = 0; secrets[i] != NULL; i++)
        add_secret(&patterns, secrets[i]);
    CLEANUP(free_redaction) struct redaction *redaction = redaction_of(secrets);
    static struct text wanted;
    static struct text output;
    reference(&patterns, input, &wanted);
    expect_no_pattern(&patterns, &wanted);
    for (size_t split = 0; split <= input->length; split++) {
        redact(redaction, input, split, TEXT_LIMIT, &output);
        expect_same(&output, &wanted, split);
    }
    for (size_t piece = 1; piece < 8; piece++) {
        redact(redaction, input, 0, piece, &output);
        expect_same(&output, &wanted, piece);
    }
}

static const char *const sets[][SECRETS_LIMIT + 1] = {
    {"hunter2-hunter2"},
    {"pa\"ss\\wo\trd /+&=%"},
    {"<a\x01!b(c)*d'e>\x7F/ "},
    {"\xC3\xA4/\xE2\x82\xAC\xF0\x9F\x98\x80!"},
    {"abcd1234", "1234wxyz"}, /* overlap */
    {"abcdefgh", "abcd"},     /* one begins with the other */
    {"abcdefgh", "efgh"},     /* ends with it */
    {"abcdefgh", "cdef"},     /* holds it */
    {"abab", "babb"},         /* overlap themselves and each other */
    {"aaaa", "aaaaaa"},       /* nothing but overlap */
    {"-----BEGIN\nline one\nxy\nline two\n-----END\n"},
    {"line one\nline two", "two\nthree"},
    {"\xC3\xA4\xF0\x9F\x98\x80\xFF\xFE"},
    {"0123456789abcdef0123456789ABCDEF", "abcdef"},
    {"it''s \"a\" $'b' \\x\x1B\a\v\f\b\r\n"},
    {"'\xC3\xB6\xE2\x82\xAC\xF0\x9F\x98\x80'\xFF''"},
    {"one that is longer than any window of a search could be, or need be"},
};

/* In each encoding: alone, at the start and end of a text, twice in a row. */
START_TEST(takes_out_every_encoding)
{
    for (size_t kind = 0; kind < ENCODING_KINDS; kind++) {
        for (size_t i = 0; sets[_i][i] != NULL; i++) {
            struct text value = {.length = 0};
            encode(sets[_i][i], kind, &value);
            struct text input = {.length = 0};
            append(&input, value.bytes, value.length);
            check_every_split(sets[_i], &input);
            append_string(&input, " between, not secret ");
            append(&input, value.bytes, value.length);
            append(&input, value.bytes, value.length);
            check_every_split(sets[_i], &input);
            append(&input, value.bytes, value.length - 1); /* all but the last byte is no secret */
            check_every_split(sets[_i], &input);
        }
    }
}
END_TEST

/* Each secret behind and inside each other: overlapping by every number of bytes. */
START_TEST(takes_out_what_overlaps)
{
    const char *const *set = sets[_i];
    for (size_t first = 0; set[first] != NULL; first++) {
        for (size_t second = 0; set[second] != NULL; second++) {
            for (size_t shared = 0; shared <= strlen(set[first]); shared++) {
                struct text input = {.length = 0};
                append_string(&input, "<");
                append(&input, set[first], strlen(set[first]) - shared);
                append_string(&input, set[second]);
                append_string(&input, ">");
                check_every_split(set, &input);
            }
        }
    }
}
END_TEST

START_TEST(takes_out_base64_at_any_place)
{
    static const char before[] = "xyz";
    for (size_t offset = 0; offset < 3; offset++) {
        for (int url = 0; url < 2; url++) {
            struct text plain = {.length = 0};
            append(&plain, before, offset);
            append_string(&plain, sets[_i][0]);
            append_string(&plain, "behind");
            struct text input = {.length = 0};
            to_base64(plain.bytes, plain.length, url != 0, &input);
            check_every_split(sets[_i], &input);
        }
    }
}
END_TEST

/* A small alphabet makes values, parts of values and near misses of all kinds. */
START_TEST(agrees_with_the_reference_on_random_output)
{
    uint64_t state = (uint64_t)_i + 1;
    for (int round = 0; round < 3; round++) {
        char values[SECRETS_LIMIT][16] = {{0}};
        const char *secrets[SECRETS_LIMIT + 1] = {NULL};
        for (size_t i = 0; i < SECRETS_LIMIT; i++) {
            size_t length = REDACTION_MINIMUM + random_below(&state, 5);
            for (size_t j = 0; j < length; j++)
                values[i][j] = (char)('a' + (char)random_below(&state, 2));
            secrets[i] = values[i];
        }
        struct text input = {.length = 0};
        for (int i = 0; i < 60; i++)
            append(&input, random_below(&state, 12) == 0 ? "----" : values[random_below(&state, 4)],
                   1 + random_below(&state, 4));
        check_every_split(secrets, &input);
    }
}
END_TEST

START_TEST(passes_the_rest_unchanged)
{
    static const char *const secrets[] = {"hunter2-hunter2", NULL};
    struct text input = {.length = 0};
    for (int i = 0; i < 1024; i++)
        append(&input, (char[]){(char)i}, 1);
    check_every_split(secrets, &input);
    CLEANUP(free_redaction) struct redaction *redaction = redaction_new();
    struct text output = {.length = 0};
    redact(redaction, &input, 7, 100, &output);
    expect_same(&output, &input, 7);
    ck_assert(redaction_empty(redaction) && redaction_empty(NULL));
}
END_TEST

static char printable(uint64_t *state)
{
    return (char)('!' + (char)random_below(state, '~' - '!'));
}

/* As many secrets as a busy call has, in output that is much longer than they are. */
START_TEST(finds_each_of_twenty_secrets)
{
    enum { SECRETS = 20, OUTPUT = 6000 };
    static char values[SECRETS][41];
    static const char *secrets[SECRETS + 1];
    static struct patterns patterns;
    static struct text input;
    static struct text wanted;
    static struct text output;
    uint64_t state = (uint64_t)_i + 77;
    patterns.count = 0;
    input.length = 0;
    for (size_t i = 0; i < SECRETS; i++) {
        size_t length = (size_t)(_i == 0 ? 32 : 4) + random_below(&state, 8);
        for (size_t j = 0; j < length; j++)
            values[i][j] = printable(&state);
        values[i][length] = '\0';
        secrets[i] = values[i];
        add_secret(&patterns, values[i]);
    }
    while (input.length < OUTPUT) {
        if (random_below(&state, 100) == 0) {
            struct text form;
            encode(values[random_below(&state, SECRETS)], random_below(&state, ENCODING_KINDS),
                   &form);
            append(&input, form.bytes, form.length - (random_below(&state, 4) == 0));
        } else {
            append(&input, (char[]){printable(&state)}, 1);
        }
    }
    CLEANUP(free_redaction) struct redaction *redaction = redaction_of(secrets);
    reference(&patterns, &input, &wanted);
    expect_no_pattern(&patterns, &wanted);
    for (size_t piece = 1; piece < input.length; piece += 1 + piece / 4) {
        redact(redaction, &input, 0, piece, &output);
        expect_same(&output, &wanted, piece);
    }
}
END_TEST

int main(void)
{
    int count = COUNT_OF(sets);
    TCase *cases[] = {tcase_create("redaction")};
    tcase_set_timeout(cases[0], 60);
    tcase_add_loop_test(cases[0], takes_out_every_encoding, 0, count);
    tcase_add_loop_test(cases[0], takes_out_what_overlaps, 0, count);
    tcase_add_loop_test(cases[0], takes_out_base64_at_any_place, 0, count);
    tcase_add_loop_test(cases[0], agrees_with_the_reference_on_random_output, 0, 10);
    tcase_add_test(cases[0], passes_the_rest_unchanged);
    tcase_add_loop_test(cases[0], finds_each_of_twenty_secrets, 0, 2);
    return run_suite("redaction", cases, COUNT_OF(cases));
}
