/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding secrets in output. Runs in the gateway, on the thread inside tool_invoke(). A byte that
 * starts no pattern is passed with one table look-up; at the others the patterns are tried, longest
 * first.
 */
#include "redaction.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

#define PATTERNS_LIMIT 1024
#define BASE64_MINIMUM 6 /* characters of the part that does not depend on the neighbours */

struct pattern {
    unsigned char *bytes;
    size_t length;
    char label[160];
};

struct redaction {
    struct pattern patterns[PATTERNS_LIMIT]; /* longest first */
    size_t count;
    size_t longest;
    bool starts[256]; /* the first bytes of all patterns */
};

struct redaction *redaction_new(void)
{
    return calloc(1, sizeof(struct redaction));
}

void redaction_free(struct redaction *redaction)
{
    if (redaction == NULL)
        return;
    for (size_t i = 0; i < redaction->count; i++) {
        explicit_bzero(redaction->patterns[i].bytes, redaction->patterns[i].length);
        free(redaction->patterns[i].bytes);
    }
    free(redaction);
}

bool redaction_empty(const struct redaction *redaction)
{
    return redaction == NULL || redaction->count == 0;
}

static bool known_pattern(const struct redaction *redaction, const void *bytes, size_t length)
{
    for (size_t i = 0; i < redaction->count; i++)
        if (redaction->patterns[i].length == length &&
            memcmp(redaction->patterns[i].bytes, bytes, length) == 0)
            return true;
    return false;
}

static bool add_pattern(struct redaction *redaction, const char *name, const void *bytes,
                        size_t length)
{
    if (length < REDACTION_MINIMUM || known_pattern(redaction, bytes, length))
        return true;
    if (redaction->count == PATTERNS_LIMIT)
        return false;
    struct pattern pattern = {.length = length};
    pattern.bytes = malloc(length);
    if (pattern.bytes == NULL)
        return false;
    memcpy(pattern.bytes, bytes, length);
    (void)snprintf(pattern.label, sizeof(pattern.label), "[redacted:%s]", name);

    size_t place = redaction->count;
    while (place > 0 && redaction->patterns[place - 1].length < length) {
        redaction->patterns[place] = redaction->patterns[place - 1];
        place--;
    }
    redaction->patterns[place] = pattern;
    redaction->count++;
    redaction->starts[pattern.bytes[0]] = true;
    if (length > redaction->longest)
        redaction->longest = length;
    return true;
}

/* An encoding writes at most six characters a byte ("\u00XX"). */
typedef size_t encoder(const unsigned char *value, size_t length, char *text);

static size_t encode_json(const unsigned char *value, size_t length, char *text)
{
    static const char from[] = "\"\\\b\f\n\r\t";
    static const char to[] = "\"\\bfnrt";
    size_t size = 0;
    for (size_t i = 0; i < length; i++) {
        const char *special = value[i] != 0 ? strchr(from, value[i]) : NULL;
        if (special != NULL) {
            text[size++] = '\\';
            text[size++] = to[special - from];
        } else if (value[i] < 0x20) {
            size += (size_t)sprintf(text + size, "\\u%04x", value[i]);
        } else {
            text[size++] = (char)value[i];
        }
    }
    return size;
}

static bool is_unreserved(unsigned char byte) /* RFC 3986, section 2.3 */
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

static size_t encode_percent(const unsigned char *value, size_t length, char *text)
{
    size_t size = 0;
    for (size_t i = 0; i < length; i++) {
        if (is_unreserved(value[i]))
            text[size++] = (char)value[i];
        else
            size += (size_t)sprintf(text + size, "%%%02X", value[i]);
    }
    return size;
}

static size_t encode_hex_lower(const unsigned char *value, size_t length, char *text)
{
    for (size_t i = 0; i < length; i++)
        (void)sprintf(text + 2 * i, "%02x", value[i]);
    return 2 * length;
}

static size_t encode_hex_upper(const unsigned char *value, size_t length, char *text)
{
    for (size_t i = 0; i < length; i++)
        (void)sprintf(text + 2 * i, "%02X", value[i]);
    return 2 * length;
}

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base64_url_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* The characters that are the same whatever stands before (offset bytes, modulo 3) and behind the
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
    return size;
}

static bool add_base64(struct redaction *redaction, const char *name, const unsigned char *value,
                       size_t length, char *text)
{
    for (size_t offset = 0; offset < 3; offset++) {
        size_t size = encode_base64_inner(value, length, offset, base64_digits, text);
        if (size >= BASE64_MINIMUM && !add_pattern(redaction, name, text, size))
            return false;
        size = encode_base64_inner(value, length, offset, base64_url_digits, text);
        if (size >= BASE64_MINIMUM && !add_pattern(redaction, name, text, size))
            return false;
    }
    return true;
}

static bool add_lines(struct redaction *redaction, const char *name, const unsigned char *value,
                      size_t length)
{
    const unsigned char *end = value + length;
    while (value < end) {
        const unsigned char *newline = memchr(value, '\n', (size_t)(end - value));
        const unsigned char *line_end = newline != NULL ? newline : end;
        if (!add_pattern(redaction, name, value, (size_t)(line_end - value)))
            return false;
        value = line_end + 1;
    }
    return true;
}

static bool add_encodings(struct redaction *redaction, const char *name, const unsigned char *value,
                          size_t length, char *text)
{
    static encoder *const encoders[] = {encode_json, encode_percent, encode_hex_lower,
                                        encode_hex_upper};
    for (size_t i = 0; i < COUNT_OF(encoders); i++)
        if (!add_pattern(redaction, name, text, encoders[i](value, length, text)))
            return false;
    return add_base64(redaction, name, value, length, text);
}

bool redaction_add(struct redaction *redaction, const char *name, const void *value, size_t length,
                   struct error *error)
{
    if (length < REDACTION_MINIMUM)
        return true;
    size_t text_size = 6 * length + 8;
    char *text = malloc(text_size);
    bool added = text != NULL && add_pattern(redaction, name, value, length) &&
                 add_lines(redaction, name, value, length) &&
                 add_encodings(redaction, name, value, length, text);
    if (text != NULL)
        explicit_bzero(text, text_size);
    free(text);
    if (!added && redaction->count == PATTERNS_LIMIT)
        error_set(error, ERROR_INVALID_INPUT,
                  "the secret %s has too many lines to be redacted from the output", name);
    else if (!added)
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the secrets");
    return added;
}

/* The longest value that starts here and has more than covered bytes. */
static const struct pattern *match_at(const struct redaction *redaction, const unsigned char *bytes,
                                      size_t length, size_t covered)
{
    for (size_t i = 0; i < redaction->count; i++) {
        const struct pattern *pattern = &redaction->patterns[i];
        if (pattern->length <= covered)
            return NULL;
        if (pattern->length <= length && memcmp(pattern->bytes, bytes, pattern->length) == 0)
            return pattern;
    }
    return NULL;
}

/* Passes on bytes[0..certain), replacing what starts there. Values that overlap are one: the end of
 * the second is as secret as the first. One that reaches beyond certain is finished by the next
 * scan. */
static void scan(struct redaction_stream *stream, const unsigned char *bytes, size_t length,
                 size_t certain, redaction_sink *sink, void *user)
{
    const struct redaction *redaction = stream->redaction;
    size_t done = stream->covered; /* passed on, or part of a value */
    for (size_t i = 0; i < certain; i++) {
        if (!redaction->starts[bytes[i]])
            continue;
        bool inside = i < stream->covered;
        size_t covered = inside ? stream->covered - i : 0;
        const struct pattern *pattern = match_at(redaction, bytes + i, length - i, covered);
        if (pattern == NULL)
            continue;
        if (i > done)
            sink(user, bytes + done, i - done);
        if (!inside) {
            sink(user, pattern->label, strlen(pattern->label));
            stream->found++;
        }
        stream->covered = i + pattern->length;
        done = stream->covered;
    }
    if (certain > done)
        sink(user, bytes + done, certain - done);
    stream->covered = stream->covered > certain ? stream->covered - certain : 0;
}

void redaction_feed(struct redaction_stream *stream, const void *bytes, size_t length,
                    redaction_sink *sink, void *user)
{
    static const char lost[] = "[output lost: out of memory]";
    if (redaction_empty(stream->redaction)) {
        sink(user, bytes, length);
        return;
    }
    size_t total = stream->held_length + length;
    unsigned char *all = malloc(total);
    if (all == NULL) {
        redaction_stream_clear(stream); /* what is held may be the first half of a value */
        sink(user, lost, sizeof(lost) - 1);
        return;
    }
    if (stream->held_length > 0)
        memcpy(all, stream->held, stream->held_length);
    memcpy(all + stream->held_length, bytes, length);

    size_t keep = stream->redaction->longest - 1;
    size_t certain = total > keep ? total - keep : 0;
    scan(stream, all, total, certain, sink, user);
    memmove(all, all + certain, total - certain);
    explicit_bzero(all + total - certain, certain);
    size_t covered = stream->covered;
    redaction_stream_clear(stream);
    stream->held = all;
    stream->held_length = total - certain;
    stream->covered = covered;
}

void redaction_flush(struct redaction_stream *stream, redaction_sink *sink, void *user)
{
    if (stream->held_length > 0)
        scan(stream, stream->held, stream->held_length, stream->held_length, sink, user);
    redaction_stream_clear(stream);
}

void redaction_stream_clear(struct redaction_stream *stream)
{
    if (stream->held != NULL)
        explicit_bzero(stream->held, stream->held_length);
    free(stream->held);
    stream->held = NULL;
    stream->held_length = 0;
    stream->covered = 0;
}
