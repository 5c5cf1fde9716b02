/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing JSON. Not jansson's writer: json_dumps() of 2.14 goes on when its buffer cannot grow in
 * the middle of a name, and returns a text that lacks it; and it formats and hashes the address of
 * every container to see that none is in itself, which ours, made by us or parsed, cannot be.
 *
 * Numbers are 64-bit integers and written in decimal; only values of programs and tools have
 * others. RFC 8785 rounds integers beyond 2^53 as a double would; we keep them exact, because a
 * hash that two different limits share binds nothing.
 */
#include "json/json_text.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

#define DEPTH_LIMIT    128
#define FIRST_CAPACITY 2048 /* most audit records fit */

struct member {
    const char *name;
    size_t length;
    const json_t *value;
};

static bool write_value(struct json_draft *text, const json_t *value, size_t depth);

/* Room for so many bytes more. */
static bool reserve(struct json_draft *text, size_t length)
{
    if (text->capacity - text->length >= length)
        return true;
    size_t capacity = text->capacity == 0 ? FIRST_CAPACITY : text->capacity;
    while (capacity - text->length < length) {
        if (capacity > SIZE_MAX / 2)
            return false;
        capacity *= 2;
    }
    char *grown = realloc(text->bytes, capacity);
    if (!grown)
        return false;
    text->bytes = grown;
    text->capacity = capacity;
    return true;
}

static bool append(struct json_draft *text, const char *bytes, size_t length)
{
    if (!reserve(text, length))
        return false;
    if (length > 0)
        memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    return true;
}

static bool put(struct json_draft *text, char c)
{
    if (!reserve(text, 1))
        return false;
    text->bytes[text->length++] = c;
    return true;
}

/* The two-character escape of c, or NULL where it has none. */
static const char *short_escape(char c)
{
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\t':
        return "\\t";
    case '\n':
        return "\\n";
    case '\f':
        return "\\f";
    case '\r':
        return "\\r";
    default:
        return NULL;
    }
}

static bool write_escaped(struct json_draft *text, char c)
{
    const char *escape = short_escape(c);
    if (escape)
        return append(text, escape, 2);
    char unicode[7];
    (void)snprintf(unicode, sizeof(unicode), "\\u%04x", (unsigned)(unsigned char)c);
    return append(text, unicode, 6);
}

static bool is_plain(char c)
{
    return (unsigned char)c >= 0x20 && c != '"' && c != '\\';
}

/* From the first byte on that needs an escape. */
static bool write_escaped_rest(struct json_draft *text, const char *bytes, size_t length)
{
    size_t plain = 0; /* start of the run of bytes that need none */
    for (size_t i = 0; i < length; i++) {
        if (is_plain(bytes[i]))
            continue;
        if (!append(text, bytes + plain, i - plain) || !write_escaped(text, bytes[i]))
            return false;
        plain = i + 1;
    }
    return append(text, bytes + plain, length - plain);
}

/* Most strings are short and need no escape, and there are some hundred in the texts of a call. */
static bool write_string(struct json_draft *text, const char *bytes, size_t length)
{
    size_t i = 0;
    if (length > SIZE_MAX - 2 || !reserve(text, length + 2))
        return false;
    text->bytes[text->length++] = '"';
    for (char *to = text->bytes + text->length; i < length && is_plain(bytes[i]); i++)
        to[i] = bytes[i];
    text->length += i;
    return (i == length || write_escaped_rest(text, bytes + i, length - i)) && put(text, '"');
}

static bool write_integer(struct json_draft *text, json_int_t value)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        digits[--at] = '-';
    return append(text, digits + at, sizeof(digits) - at);
}

/* The shortest form that is read back as the same number. The radix character is that of the host's
 * locale, and may have more than one byte. */
static bool write_real(struct json_draft *text, double value)
{
    char digits[48];
    int precision = DBL_DIG;
    do {
        (void)snprintf(digits, sizeof(digits), "%.*g", precision, value);
    } while (precision++ < DBL_DECIMAL_DIG && strtod(digits, NULL) != value);
    size_t whole = strspn(digits, "-0123456789");
    size_t radix = strcspn(digits + whole, "0123456789eE");
    const char *rest = digits + whole + radix;
    return append(text, digits, whole) && (*rest == 'e' || put(text, '.')) &&
           append(text, *rest ? rest : "0", *rest ? strlen(rest) : 1);
}

static bool write_array(struct json_draft *text, const json_t *array, size_t depth)
{
    size_t i;
    json_t *item;

    if (!put(text, '['))
        return false;
    json_array_foreach(array, i, item)
    {
        if ((i > 0 && !put(text, ',')) || !write_value(text, item, depth + 1))
            return false;
    }
    return put(text, ']');
}

/* Order of UTF-16 code units. It is the order of UTF-8 bytes but for one thing: characters beyond
 * U+FFFF (lead bytes F0 and up) are surrogates there and come before U+E000..U+FFFF (EE and EF). */
static int compare_members(const void *left_member, const void *right_member)
{
    const struct member *left = left_member;
    const struct member *right = right_member;
    size_t shorter = left->length < right->length ? left->length : right->length;
    for (size_t i = 0; i < shorter; i++) {
        unsigned char a = (unsigned char)left->name[i];
        unsigned char b = (unsigned char)right->name[i];
        if (a == b)
            continue;
        if (a >= 0xEE && b >= 0xEE && (a >= 0xF0) != (b >= 0xF0))
            return a >= 0xF0 ? -1 : 1;
        return a < b ? -1 : 1;
    }
    return (left->length > right->length) - (left->length < right->length);
}

static struct member *sorted_members(json_t *object, size_t count)
{
    struct member *members = calloc(count + 1, sizeof(*members)); /* never of size 0 */
    if (!members)
        return NULL;
    size_t i = 0;
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        members[i].name = json_object_iter_key(at);
        members[i].length = json_object_iter_key_len(at);
        members[i].value = json_object_iter_value(at);
        i++;
    }
    qsort(members, count, sizeof(*members), compare_members);
    return members;
}

static bool write_member(struct json_draft *text, const struct member *member, bool first,
                         size_t depth)
{
    return (first || put(text, ',')) && write_string(text, member->name, member->length) &&
           put(text, ':') && write_value(text, member->value, depth + 1);
}

static bool write_sorted(struct json_draft *text, json_t *object, size_t depth)
{
    size_t count = json_object_size(object);
    CLEANUP_FREE struct member *members = sorted_members(object, count);
    if (!members)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!write_member(text, &members[i], i == 0, depth))
            return false;
    return true;
}

static bool write_as_made(struct json_draft *text, json_t *object, size_t depth)
{
    bool first = true;
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        const struct member member = {json_object_iter_key(at), json_object_iter_key_len(at),
                                      json_object_iter_value(at)};
        if (!write_member(text, &member, first, depth))
            return false;
        first = false;
    }
    return true;
}

static bool is_sorted(json_t *object)
{
    struct member before = {"", 0, NULL};
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        const struct member member = {json_object_iter_key(at), json_object_iter_key_len(at), NULL};
        if (compare_members(&before, &member) > 0)
            return false;
        before = member;
    }
    return true;
}

static bool write_object(struct json_draft *text, const json_t *object, size_t depth)
{
    /* jansson's iterators want a mutable object and do not change it. */
    json_t *mutable = (json_t *)(uintptr_t)object;
    bool sorts = text->order == JSON_ORDER_SORTED || text->order == JSON_ORDER_SORTED_REAL;
    bool as_made = !sorts || is_sorted(mutable);
    return put(text, '{') &&
           (as_made ? write_as_made(text, mutable, depth) : write_sorted(text, mutable, depth)) &&
           put(text, '}');
}

static bool write_value(struct json_draft *text, const json_t *value, size_t depth)
{
    if (!value || depth > DEPTH_LIMIT)
        return false;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return write_object(text, value, depth);
    case JSON_ARRAY:
        return write_array(text, value, depth);
    case JSON_STRING:
        return write_string(text, json_string_value(value), json_string_length(value));
    case JSON_INTEGER:
        return write_integer(text, json_integer_value(value));
    case JSON_TRUE:
        return append(text, "true", 4);
    case JSON_FALSE:
        return append(text, "false", 5);
    case JSON_NULL:
        return append(text, "null", 4);
    case JSON_REAL:
        return (text->order == JSON_ORDER_MADE_REAL || text->order == JSON_ORDER_SORTED_REAL) &&
               write_real(text, json_real_value(value));
    }
    return false;
}

char *json_text(const json_t *value, enum json_order order)
{
    struct json_draft text = {.order = order};
    if (write_value(&text, value, 1) && put(&text, '\0'))
        return text.bytes;
    free(text.bytes);
    return NULL;
}

static bool is_utf8(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        const unsigned char *bytes = (const unsigned char *)text + i;
        size_t sequence = bytes[0] < 0x80 ? 1 : utf8_sequence(bytes, length - i);
        if (sequence == 0)
            return false;
        i += sequence;
    }
    return true;
}

static bool is_first(const struct json_draft *draft)
{
    if (draft->length == 0)
        return true;
    char last = draft->bytes[draft->length - 1];
    return last == '{' || last == '[';
}

/* The comma before all but the first, and the name. */
static bool begin(struct json_draft *draft, const char *name)
{
    return !draft->failed && (is_first(draft) || put(draft, ',')) &&
           (!name || (write_string(draft, name, strlen(name)) && put(draft, ':')));
}

void json_draft_open(struct json_draft *draft, const char *name, char bracket)
{
    draft->failed = !(begin(draft, name) && put(draft, bracket));
}

void json_draft_close(struct json_draft *draft, char bracket)
{
    draft->failed = draft->failed || !put(draft, bracket);
}

void json_draft_bytes(struct json_draft *draft, const char *name, const char *text, size_t length)
{
    draft->failed =
        !(begin(draft, name) && is_utf8(text, length) && write_string(draft, text, length));
}

void json_draft_string(struct json_draft *draft, const char *name, const char *text)
{
    if (text)
        json_draft_bytes(draft, name, text, strlen(text));
    else
        draft->failed = !(begin(draft, name) && append(draft, "null", 4));
}

void json_draft_integer(struct json_draft *draft, const char *name, int64_t value)
{
    draft->failed = !(begin(draft, name) && write_integer(draft, value));
}

void json_draft_boolean(struct json_draft *draft, const char *name, bool value)
{
    draft->failed =
        !(begin(draft, name) && (value ? append(draft, "true", 4) : append(draft, "false", 5)));
}

void json_draft_value(struct json_draft *draft, const char *name, json_t *value)
{
    draft->failed = !(begin(draft, name) && write_value(draft, value, 1));
    json_decref(value);
}

void json_draft_text(struct json_draft *draft, const char *name, const char *text, size_t length)
{
    draft->failed = !(begin(draft, name) && append(draft, text, length));
}

char *json_draft_take(struct json_draft *draft, size_t *ret_length)
{
    if (draft->failed || !put(draft, '\0')) {
        free(draft->bytes);
        *draft = (struct json_draft){.order = draft->order};
        return NULL;
    }
    *ret_length = draft->length - 1;
    char *text = draft->bytes;
    *draft = (struct json_draft){.order = draft->order};
    return text;
}
