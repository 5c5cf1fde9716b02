/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of a secret, as the usual encoders of the usual languages write them. Runs in the
 * gateway, on the thread inside tool_invoke(). */
#include "redaction/redaction_encoding.h"

#include <stdint.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#define BASE64_MINIMUM 6 /* characters of the part that does not depend on the neighbours */

static const char lower_digits[] = "0123456789abcdef";
static const char upper_digits[] = "0123456789ABCDEF";

/* What an encoder of JSON strings escapes beside the quote, the backslash and control characters.
 */
struct json_style {
    const char *further;
    bool ascii; /* and everything beyond ASCII */
};

static const struct json_style json_styles[] = {
    {"", false},    /* JSON.stringify(), jansson, serde */
    {"\x7F", true}, /* Python's json.dumps() */
    {"<>&", false}, /* Go's encoding/json */
    {"/", true},    /* PHP's json_encode() */
};

/* An encoder of URLs. */
struct percent_style {
    const char *digits;
    const char *plain; /* not encoded, beside what RFC 3986, section 2.3 has as unreserved */
    bool space_is_plus;
};

static const struct percent_style percent_styles[] = {
    {upper_digits, "", false},      /* RFC 3986 */
    {lower_digits, "", false},      /* the same in lower case */
    {upper_digits, "/", false},     /* Python's urllib.parse.quote() */
    {upper_digits, "!'()*", false}, /* encodeURIComponent() */
    {upper_digits, "", true},       /* application/x-www-form-urlencoded */
};

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base64_url_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Is the byte one of the text's characters? A NUL is none. */
static bool is_one_of(unsigned char byte, const char *text)
{
    return byte != '\0' && strchr(text, byte);
}

static size_t put_unicode_escape(unsigned unit, char *text)
{
    text[0] = '\\';
    text[1] = 'u';
    for (size_t i = 0; i < 4; i++)
        text[2 + i] = lower_digits[unit >> (12 - 4 * i) & 0xF];
    return 6;
}

/* A valid sequence of two to four bytes as one or two escapes (RFC 8259, section 7). */
static size_t put_escaped_character(const unsigned char *bytes, size_t length, char *text)
{
    uint32_t point = bytes[0] & (0xFFu >> (length + 1));
    for (size_t i = 1; i < length; i++)
        point = point << 6 | (bytes[i] & 0x3Fu);
    if (point < 0x10000)
        return put_unicode_escape(point, text);
    point -= 0x10000;
    size_t size = put_unicode_escape(0xD800 | point >> 10, text);
    return size + put_unicode_escape(0xDC00 | (point & 0x3FF), text + size);
}

static size_t put_json_byte(unsigned char byte, const struct json_style *style, char *text)
{
    static const char from[] = "\"\\\b\f\n\r\t/";
    static const char to[] = "\"\\bfnrt/";
    bool special = is_one_of(byte, "\"\\") || is_one_of(byte, style->further);
    if (byte >= 0x20 && !special) {
        text[0] = (char)byte;
        return 1;
    }
    if (!is_one_of(byte, from))
        return put_unicode_escape(byte, text);
    text[0] = '\\';
    text[1] = to[strchr(from, byte) - from];
    return 2;
}

/* 0 where the style needs characters and the value is none. */
static size_t encode_json(const unsigned char *value, size_t length, const struct json_style *style,
                          char *text)
{
    size_t size = 0;
    for (size_t i = 0; i < length;) {
        size_t sequence = style->ascii ? utf8_sequence(value + i, length - i) : 1;
        if (sequence == 0)
            return 0;
        size += sequence > 1 ? put_escaped_character(value + i, sequence, text + size)
                             : put_json_byte(value[i], style, text + size);
        i += sequence;
    }
    return size;
}

static size_t encode_percent(const unsigned char *value, size_t length,
                             const struct percent_style *style, char *text)
{
    static const char unreserved[] = ASCII_ALPHANUMERIC "-._~";
    size_t size = 0;
    for (size_t i = 0; i < length; i++) {
        if (is_one_of(value[i], unreserved) || is_one_of(value[i], style->plain)) {
            text[size++] = (char)value[i];
        } else if (value[i] == ' ' && style->space_is_plus) {
            text[size++] = '+';
        } else {
            text[size++] = '%';
            text[size++] = style->digits[value[i] >> 4];
            text[size++] = style->digits[value[i] & 0xF];
        }
    }
    return size;
}

static size_t encode_hex(const unsigned char *value, size_t length, const char *digits, char *text)
{
    for (size_t i = 0; i < length; i++) {
        text[2 * i] = digits[value[i] >> 4];
        text[2 * i + 1] = digits[value[i] & 0xF];
    }
    return 2 * length;
}

/* The characters that do not depend on the bytes before (offset bytes, modulo 3) and after the
 * value: those whose six bits all come from the value. */
static size_t encode_base64_inner(const unsigned char *value, size_t length, size_t offset,
                                  const char *digits, char *text)
{
    size_t first_bit = (6 - offset * 8 % 6) % 6;
    size_t size = 0;
    for (size_t bit = first_bit; bit + 6 <= length * 8; bit += 6) {
        unsigned window = (unsigned)value[bit / 8] << 8;
        if (bit / 8 + 1 < length)
            window |= value[bit / 8 + 1];
        text[size++] = digits[window >> (10 - bit % 8) & 0x3F];
    }
    return size >= BASE64_MINIMUM ? size : 0;
}

static bool take_lines(const unsigned char *value, size_t length, redaction_form_sink *take,
                       void *user)
{
    const unsigned char *end = value + length;
    while (value < end) {
        const unsigned char *newline = memchr(value, '\n', (size_t)(end - value));
        const unsigned char *line_end = newline ? newline : end;
        if (!take(user, value, (size_t)(line_end - value)))
            return false;
        value = line_end + 1;
    }
    return true;
}

static bool take_base64(const unsigned char *value, size_t length, char *scratch,
                        redaction_form_sink *take, void *user)
{
    static const char *const alphabets[] = {base64_digits, base64_url_digits};
    for (size_t i = 0; i < 3 * COUNT_OF(alphabets); i++) {
        size_t size = encode_base64_inner(value, length, i % 3, alphabets[i / 3], scratch);
        if (!take(user, scratch, size))
            return false;
    }
    return true;
}

bool redaction_encode(const unsigned char *value, size_t length, char *scratch,
                      redaction_form_sink *take, void *user)
{
    if (!take(user, value, length) || !take_lines(value, length, take, user))
        return false;
    for (size_t i = 0; i < COUNT_OF(json_styles); i++)
        if (!take(user, scratch, encode_json(value, length, &json_styles[i], scratch)))
            return false;
    for (size_t i = 0; i < COUNT_OF(percent_styles); i++)
        if (!take(user, scratch, encode_percent(value, length, &percent_styles[i], scratch)))
            return false;
    for (size_t i = 0; i < QUOTING_STYLES; i++)
        if (!take(user, scratch, redaction_quote(value, length, i, scratch)))
            return false;
    return take(user, scratch, encode_hex(value, length, lower_digits, scratch)) &&
           take(user, scratch, encode_hex(value, length, upper_digits, scratch)) &&
           take_base64(value, length, scratch, take, user);
}
