/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of redaction: see redaction_reference.h. */
#include "redaction_reference.h"

#include <stdio.h>
#include <string.h>

#include "tap_suite.h"

#define BASE64_MINIMUM 6
#define ASCII_KINDS    10 /* from here the value must be UTF-8 */
#define PLAIN_KINDS    12

void append(void *user, const void *bytes, size_t length)
{
    struct text *text = user;
    HOLDS(length <= sizeof(text->bytes) - text->length, "a text of more than %zu bytes",
          sizeof(text->bytes));
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

void append_string(struct text *text, const char *string)
{
    append(text, string, strlen(string));
}

static void add_pattern(struct patterns *patterns, const char *bytes, size_t length)
{
    ck_assert_uint_lt(patterns->count, PATTERNS_LIMIT);
    struct pattern *pattern = &patterns->all[patterns->count++];
    ck_assert_uint_le(length, sizeof(pattern->bytes));
    memcpy(pattern->bytes, bytes, length);
    pattern->length = length;
}

void to_base64(const char *bytes, size_t length, bool url, struct text *ret)
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

void encode(const char *value, size_t kind, struct text *ret)
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
            add_pattern(patterns, text.bytes + mixed[offset], whole);
    }
}

void add_secret(struct patterns *patterns, const char *value)
{
    struct text text = {.length = 0};
    for (size_t kind = 0; kind < PLAIN_KINDS; kind++) {
        if (kind >= ASCII_KINDS && !is_utf8(value))
            continue;
        encode(value, kind, &text);
        add_pattern(patterns, text.bytes, text.length);
    }
    for (size_t offset = 0; offset < 3; offset++)
        add_base64_patterns(patterns, value, offset);
    for (const char *line = value; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        if (length >= REDACTION_MINIMUM)
            add_pattern(patterns, line, length);
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

void reference(const struct patterns *patterns, const struct text *input, struct text *ret)
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

struct redaction *redaction_of(const char *const *secrets)
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

void expect_no_pattern(const struct patterns *patterns, const struct text *text)
{
    for (size_t i = 0; i < patterns->count; i++)
        HOLDS(memmem(text->bytes, text->length, patterns->all[i].bytes, patterns->all[i].length) ==
                  NULL,
              "%.*s in %.*s", (int)patterns->all[i].length, patterns->all[i].bytes,
              (int)text->length, text->bytes);
}

void redact(const struct redaction *redaction, const struct text *input, size_t split, size_t piece,
            struct text *ret)
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
