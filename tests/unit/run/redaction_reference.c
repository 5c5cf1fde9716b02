/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of redaction: see redaction_reference.h. */
#include "redaction_reference.h"

#include <stdio.h>
#include <string.h>

#include "tap_suite.h"

#define BASE64_MINIMUM 6
#define ASCII_KINDS    10 /* from here the value must be UTF-8 */
#define PLAIN_KINDS    12
#define LITERAL_KINDS  14 /* from here on: literals of languages */

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
    static const char special[] = "\n\r\t\b\f";
    for (; *value != '\0'; value++) {
        unsigned char byte = (unsigned char)*value;
        char escape[16];
        if (byte == '"' || byte == '\\' || (byte == '/' && strchr(further, '/') != NULL))
            append(ret, (char[]){'\\', *value}, 2);
        else if (strchr(special, byte) != NULL)
            append(ret, (char[]){'\\', "nrtbf"[strchr(special, byte) - special]}, 2);
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

/* How a character looks: NULL where it is shown as it is. What is beyond ASCII are the characters
 * of the sets below, or bytes that belong to none. */
typedef const char *show(unsigned char byte, const char *at, bool quoted, char escape[16]);

static const char *show_number(unsigned char byte, const char *format, char escape[16])
{
    (void)snprintf(escape, 16,
                   format[0] == 'o'   ? "\\%03o"
                   : format[0] == 'x' ? "\\x%02x"
                                      : "\\x%02X",
                   byte);
    return escape;
}

static const char *show_control(unsigned char byte, const char *letters, const char *format,
                                char escape[16])
{
    static const char order[] = "\n\r\t\b\f\a\v\x1B";
    const char *found = byte != '\0' ? strchr(order, byte) : NULL;
    if (byte >= 0x20 && byte != 0x7F)
        return NULL;
    if (!found || (size_t)(found - order) >= strlen(letters))
        return show_number(byte, format, escape);
    (void)snprintf(escape, 16, "\\%c", letters[found - order]);
    return escape;
}

static const char *show_python(unsigned char byte, const char *at, bool quoted, char escape[16])
{
    if (byte == '\\' || (byte == '\'' && quoted))
        return byte == '\\' ? "\\\\" : "\\'";
    if (byte >= 0xFE) {
        (void)snprintf(escape, 16, "\\udc%02x", byte);
        return escape;
    }
    (void)at;
    return show_control(byte, "nrt", "x", escape);
}

static const char *show_ascii(unsigned char byte, const char *at, bool quoted, char escape[16])
{
    if (byte >= 0x80 && byte < 0xC0)
        return ""; /* the rest of a character */
    if (byte == 0xC3)
        return show_number((unsigned char)((at[1] & 0x3F) | 0xC0), "x", escape);
    if (byte == 0xE2 || byte == 0xF0)
        return byte == 0xE2 ? "\\u20ac" : "\\U0001f600";
    return show_python(byte, at, quoted, escape);
}

static const char *show_bytes(unsigned char byte, const char *at, bool quoted, char escape[16])
{
    return byte >= 0x80 ? show_number(byte, "x", escape) : show_python(byte, at, quoted, escape);
}

static const char *show_node(unsigned char byte, const char *at, bool quoted, char escape[16])
{
    (void)at;
    if (byte == '\\' || (byte == '\'' && quoted))
        return byte == '\\' ? "\\\\" : "\\'";
    return byte >= 0xFE ? show_number(byte, "X", escape) : show_control(byte, "nrtbf", "X", escape);
}

/* quoted: in the locale "C". */
static const char *show_bash(unsigned char byte, const char *at, bool quoted, char escape[16])
{
    (void)at;
    if (byte == '\\' || byte == '\'')
        return byte == '\\' ? "\\\\" : "\\'";
    bool is_number = byte >= 0xFE || (byte >= 0x80 && quoted);
    return is_number ? show_number(byte, "o", escape) : show_control(byte, "nrtbfavE", "o", escape);
}

static const char *show_backslashed(unsigned char byte, const char *characters, char escape[16])
{
    if (!strchr(characters, byte))
        return NULL;
    (void)snprintf(escape, 16, "\\%c", byte);
    return escape;
}

static const char *show_html(unsigned char byte, const char *quote, const char *apostrophe)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return quote;
    case '\'':
        return apostrophe;
    default:
        return NULL;
    }
}

static const char *show_run(const char *value, const char *at)
{
    bool first = at == value || at[-1] != '\'';
    bool last = at[1] != '\'';
    if (*at != '\'')
        return NULL;
    if (first && last)
        return at[1] == '\0' ? "'\"'\"" : "'\"'\"'";
    if (last)
        return at[1] == '\0' ? "'\"" : "'\"'";
    return first ? "'\"'" : "'";
}

static const char *show_literal(const char *value, const char *at, size_t style, char escape[16])
{
    static show *const languages[] = {show_python, show_ascii, show_bytes, show_node, show_bash};
    static const char *const apostrophes[] = {NULL, "&#x27;", "&#039;", "&#39;"};
    unsigned char byte = (unsigned char)*at;
    if (style < 10)
        return languages[style / 2](byte, at, style % 2 != 0, escape);
    switch (style) {
    case 10:
        return byte == '\'' ? "'\\''" : NULL;
    case 11:
        return show_backslashed(byte, "\"$`\\", escape);
    case 12:
        return show_backslashed(byte, " !\"$&'()*,;<>?[\\]^`{|}", escape);
    case 13:
        return byte == '\'' ? "'\"'\"'" : NULL;
    case 14:
        return show_run(value, at);
    case 19:
        return show_backslashed(byte, "'\\", escape);
    default:
        return show_html(byte,
                         style == 15   ? NULL
                         : style == 18 ? "&#34;"
                                       : "&quot;",
                         apostrophes[style - 15]);
    }
}

static void to_literal(const char *value, size_t style, struct text *ret)
{
    for (const char *at = value; *at != '\0'; at++) {
        char escape[16];
        const char *shown = show_literal(value, at, style, escape);
        if (shown)
            append_string(ret, shown);
        else
            append(ret, at, 1);
    }
}

void encode(const char *value, size_t kind, struct text *ret)
{
    ret->length = 0;
    if (kind >= LITERAL_KINDS)
        return to_literal(value, kind - LITERAL_KINDS, ret);
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
    for (size_t kind = LITERAL_KINDS; kind < ENCODING_KINDS; kind++) {
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
