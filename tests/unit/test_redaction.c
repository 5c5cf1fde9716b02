/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redaction against a reference that has the whole output at once and encoders of its own: every
 * place where a read may end, secrets that overlap, touch, and stand at either end.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "cleanup.h"
#include "random.h"
#include "redaction.h"
#include "tap_suite.h"

#define TEXT_LIMIT     8192
#define PATTERNS_LIMIT 512
#define SECRETS_LIMIT  4
#define BASE64_MINIMUM 6

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

struct text {
    char bytes[TEXT_LIMIT];
    size_t length;
};

struct pattern {
    char bytes[1024];
    size_t length;
    const char *name;
};

struct patterns {
    struct pattern all[PATTERNS_LIMIT];
    size_t count;
};

static void free_redaction(struct redaction **redaction)
{
    redaction_free(*redaction);
}

static void append(void *user, const void *bytes, size_t length)
{
    struct text *text = user;
    ck_assert_uint_le(length, sizeof(text->bytes) - text->length);
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

static void append_string(struct text *text, const char *string)
{
    append(text, string, strlen(string));
}

static void add_pattern(struct patterns *patterns, const char *name, const char *bytes,
                        size_t length)
{
    ck_assert_uint_lt(patterns->count, PATTERNS_LIMIT);
    struct pattern *pattern = &patterns->all[patterns->count++];
    ck_assert_uint_le(length, sizeof(pattern->bytes));
    memcpy(pattern->bytes, bytes, length);
    pattern->length = length;
    pattern->name = name;
}

/* The whole of it as base64(1) writes it, without "=". */
static void to_base64(const char *bytes, size_t length, bool url, struct text *ret)
{
    for (size_t bit = 0; bit < length * 8; bit += 6) {
        unsigned value = 0;
        for (size_t i = bit; i < bit + 6; i++) {
            unsigned byte = i / 8 < length ? (unsigned char)bytes[i / 8] : 0;
            value = value << 1 | (byte >> (7 - i % 8) & 1);
        }
        char c = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[value];
        if (url)
            c = (char)(c == '+' ? '-' : c == '/' ? '_' : c);
        append(ret, &c, 1);
    }
}

/* Python's json.dumps() where ascii, else JSON.stringify() with what Go or PHP escape beside it. */
static void to_json(const char *value, bool ascii, const char *further, struct text *ret)
{
    for (; *value != '\0'; value++) {
        unsigned char byte = (unsigned char)*value;
        char escape[16];
        if (byte == '"' || byte == '\\' || (byte == '/' && strchr(further, '/') != NULL))
            append(ret, (char[]){'\\', *value}, 2);
        else if (byte == '\n' || byte == '\t')
            append_string(ret, byte == '\n' ? "\\n" : "\\t");
        else if (byte < 0x20 || strchr(further, *value) != NULL ||
                 (ascii && further[0] == '\0' && byte == 0x7F))
            append(ret, escape, (size_t)sprintf(escape, "\\u%04x", byte));
        else if (ascii && byte == 0xC3) /* the characters of the sets below */
            append(ret, escape, (size_t)sprintf(escape, "\\u00%02x", (*++value & 0x3F) | 0xC0));
        else if (ascii && byte == 0xE2)
            append_string(ret, "\\u20ac"), value += 2;
        else if (ascii && byte == 0xF0)
            append_string(ret, "\\ud83d\\ude00"), value += 3;
        else
            append(ret, value, 1);
    }
}

static void to_percent(const char *value, const char *format, const char *plain, bool plus,
                       struct text *ret)
{
    static const char always[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *value != '\0'; value++) {
        char code[4];
        if (strchr(always, *value) != NULL || strchr(plain, *value) != NULL)
            append(ret, value, 1);
        else if (*value == ' ' && plus)
            append_string(ret, "+");
        else
            append(ret, code,
                   (size_t)sprintf(code, format[0] == 'x' ? "%%%02x" : "%%%02X",
                                   (unsigned char)*value));
    }
}

static void to_hex(const char *value, const char *format, struct text *ret)
{
    for (; *value != '\0'; value++) {
        char code[3];
        (void)snprintf(code, sizeof(code), format[0] == 'x' ? "%02x" : "%02X",
                       (unsigned char)*value);
        append_string(ret, code);
    }
}

/* As "printf" and friends of a program would show it. */
static void encode(const char *value, size_t kind, struct text *ret)
{
    ret->length = 0;
    switch (kind) {
    case 0:
        return append_string(ret, value);
    case 1:
        return to_json(value, false, "", ret);
    case 2:
        return to_percent(value, "X", "", false, ret);
    case 3:
    case 4:
        return to_hex(value, kind == 3 ? "x" : "X", ret);
    case 5:
        return to_percent(value, "x", "", false, ret);
    case 6:
        return to_percent(value, "X", "/", false, ret);
    case 7:
        return to_percent(value, "X", "!'()*", false, ret);
    case 8:
        return to_percent(value, "X", "", true, ret);
    case 9:
        return to_json(value, false, "<>&", ret);
    case 10:
        return to_json(value, true, "", ret);
    case 11:
        return to_json(value, true, "/", ret);
    default:
        return to_base64(value, strlen(value), kind == 13, ret);
    }
}
#define ASCII_KINDS    10 /* from here the value must be UTF-8 */
#define PLAIN_KINDS    12
#define ENCODING_KINDS 14

static bool is_utf8(const char *value)
{
    return strchr(value, '\xFF') == NULL;
}

/* What of a value's base64 does not depend on its neighbours, when offset bytes stand before it. */
static void add_base64_patterns(struct patterns *patterns, const char *value, size_t offset)
{
    static const size_t mixed[] = {0, 2, 3}; /* characters with bits of what stands before */
    char bytes[300] = {0};
    size_t length = offset + strlen(value);
    memcpy(bytes + offset, value, strlen(value));
    for (int url = 0; url < 2; url++) {
        struct text text = {.length = 0};
        to_base64(bytes, length, url != 0, &text);
        size_t whole = length * 8 / 6 - mixed[offset];
        if (whole >= BASE64_MINIMUM)
            add_pattern(patterns, value, text.bytes + mixed[offset], whole);
    }
}

static void add_secret(struct patterns *patterns, const char *value)
{
    struct text text = {.length = 0};
    for (size_t kind = 0; kind < PLAIN_KINDS; kind++) {
        if (kind >= ASCII_KINDS && !is_utf8(value))
            continue;
        encode(value, kind, &text);
        add_pattern(patterns, value, text.bytes, text.length);
    }
    for (size_t offset = 0; offset < 3; offset++)
        add_base64_patterns(patterns, value, offset);
    for (const char *line = value; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        if (length >= REDACTION_MINIMUM)
            add_pattern(patterns, value, line, length);
        line += length + (line[length] == '\n');
    }
}

static const struct pattern *longest_at(const struct patterns *patterns, const struct text *input,
                                        size_t at)
{
    const struct pattern *longest = NULL;
    for (size_t i = 0; i < patterns->count; i++) {
        const struct pattern *pattern = &patterns->all[i];
        if (pattern->length <= input->length - at &&
            memcmp(pattern->bytes, input->bytes + at, pattern->length) == 0 &&
            (longest == NULL || pattern->length > longest->length))
            longest = pattern;
    }
    return longest;
}

/* Every place that is part of any pattern goes; a label where such places begin. */
static void reference(const struct patterns *patterns, const struct text *input, struct text *ret)
{
    size_t covered = 0;
    ret->length = 0;
    for (size_t i = 0; i < input->length; i++) {
        const struct pattern *pattern = longest_at(patterns, input, i);
        if (pattern != NULL && i >= covered)
            append_string(ret, "[redacted]");
        if (pattern != NULL && i + pattern->length > covered)
            covered = i + pattern->length;
        if (i >= covered)
            append(ret, input->bytes + i, 1);
    }
}

static struct redaction *redaction_of(const char *const *secrets)
{
    struct error error;
    struct redaction *redaction = redaction_new();
    for (; *secrets != NULL; secrets++)
        ck_assert(redaction_add(redaction, "x", *secrets, strlen(*secrets), &error));
    return redaction;
}

/* Labels are of one kind, so that two secrets of the same value do not differ. */
static void shorten_labels(struct text *text)
{
    static const char label[] = "[redacted:x]";
    struct text shortened = {.length = 0};
    for (size_t i = 0; i < text->length;) {
        bool is_label = text->length - i >= sizeof(label) - 1 &&
                        memcmp(text->bytes + i, label, sizeof(label) - 1) == 0;
        append(&shortened, is_label ? "[redacted]" : text->bytes + i, is_label ? 10 : 1);
        i += is_label ? sizeof(label) - 1 : 1;
    }
    *text = shortened;
}

static void expect_no_pattern(const struct patterns *patterns, const struct text *text)
{
    for (size_t i = 0; i < patterns->count; i++)
        ck_assert_msg(memmem(text->bytes, text->length, patterns->all[i].bytes,
                             patterns->all[i].length) == NULL,
                      "%.*s in %.*s", (int)patterns->all[i].length, patterns->all[i].bytes,
                      (int)text->length, text->bytes);
}

static void expect_same(const struct text *output, const struct text *wanted, size_t split)
{
    ck_assert_msg(output->length == wanted->length &&
                      memcmp(output->bytes, wanted->bytes, wanted->length) == 0,
                  "split at %zu: %.*s, not %.*s", split, (int)output->length, output->bytes,
                  (int)wanted->length, wanted->bytes);
}

/* The input in pieces of the given size behind a first one that ends at split. */
static void redact(const struct redaction *redaction, const struct text *input, size_t split,
                   size_t piece, struct text *ret)
{
    struct redaction_stream stream = {.redaction = redaction};
    ret->length = 0;
    if (split > 0)
        redaction_feed(&stream, input->bytes, split, append, ret);
    for (size_t done = split; done < input->length;) {
        size_t count = piece < input->length - done ? piece : input->length - done;
        redaction_feed(&stream, input->bytes + done, count, append, ret);
        done += count;
    }
    redaction_flush(&stream, append, ret);
    ck_assert_ptr_null(stream.held.bytes);
    shorten_labels(ret);
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

START_TEST(does_not_look_for_short_values)
{
    struct error error;
    CLEANUP(free_redaction) struct redaction *redaction = redaction_new();
    ck_assert(redaction_add(redaction, "x", "abc", 3, &error));
    ck_assert(redaction_add(redaction, "x", "", 0, &error));
    ck_assert(redaction_empty(redaction));
}
END_TEST

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

START_TEST(refuses_more_lines_than_it_can_look_for)
{
    static char lines[8 * 2000 + 1];
    struct error error;
    for (int i = 0; i < 2000; i++)
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
    redaction_feed(&stream, "hunter2 behind", 14, append, &output);
    redaction_flush(&stream, append, &output);
    append(&output, "", 1);
    ck_assert(memcmp(output.bytes, before, strlen(before)) == 0);
    ck_assert_str_eq(output.bytes + strlen(before), "[output lost: out of memory]hunter2 behind");
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
    tcase_add_test(cases[0], does_not_look_for_short_values);
    tcase_add_test(cases[0], names_and_counts_what_it_found);
    tcase_add_test(cases[0], refuses_more_lines_than_it_can_look_for);
    tcase_add_test(cases[0], adds_nothing_when_out_of_memory);
    tcase_add_test(cases[0], takes_out_a_value_with_a_nul);
    tcase_add_test(cases[0], passes_nothing_unseen_when_out_of_memory);
    tcase_add_test(cases[0], takes_what_was_put_into_its_room);
    tcase_add_loop_test(cases[0], finds_each_of_twenty_secrets, 0, 2);
    return run_suite("redaction", cases, COUNT_OF(cases));
}
