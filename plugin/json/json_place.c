/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places and typed reading. Pure code; runs in the gateway on the calling thread.
 */
#include "json/json_place.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"

#define POINTER_NAME_LIMIT 64 /* one long name must not push the rest of the path out */

struct json_place json_place_root(const char *what, enum error_code code, struct error *error)
{
    return (struct json_place){.what = what, .code = code, .error = error};
}

static void append(struct json_place *place, const char *piece)
{
    size_t length = strlen(piece);
    if (place->cut)
        return;
    if (place->length + length > JSON_POINTER_LIMIT) {
        place->cut = true;
        length = 3;
        piece = "...";
    }
    memcpy(place->pointer + place->length, piece, length + 1);
    place->length += length;
}

/* RFC 6901's escapes, and hexadecimal for what a terminal or log must not get. */
static void append_name_byte(struct json_place *place, unsigned char byte)
{
    char piece[8] = {(char)byte};
    if (byte == '~')
        (void)snprintf(piece, sizeof(piece), "~0");
    else if (byte == '/')
        (void)snprintf(piece, sizeof(piece), "~1");
    else if (byte < 0x20 || byte >= 0x7F)
        (void)snprintf(piece, sizeof(piece), "\\x%02x", (unsigned)byte);
    append(place, piece);
}

struct json_place json_place_member(const struct json_place *place, const char *name, size_t length)
{
    struct json_place member = *place;
    append(&member, "/");
    for (size_t i = 0; i < length && i < POINTER_NAME_LIMIT; i++)
        append_name_byte(&member, (unsigned char)name[i]);
    if (length > POINTER_NAME_LIMIT)
        append(&member, "...");
    return member;
}

struct json_place json_place_named(const struct json_place *place, const char *name)
{
    return json_place_member(place, name, strlen(name));
}

struct json_place json_place_item(const struct json_place *place, size_t index)
{
    struct json_place item = *place;
    char piece[24];
    (void)snprintf(piece, sizeof(piece), "/%zu", index);
    append(&item, piece);
    return item;
}

bool json_place_refuse(const struct json_place *place, const char *format, ...)
{
    char reason[320];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(reason, sizeof(reason), format, arguments) < 0)
        reason[0] = '\0';
    va_end(arguments);
    if (place->length == 0)
        error_set(place->error, place->code, "%.200s: %s", place->what, reason);
    else
        error_set(place->error, place->code, "%.200s: %s: %s", place->what, place->pointer, reason);
    return false;
}

bool json_place_out_of_memory(const struct json_place *place)
{
    error_set(place->error, ERROR_OUT_OF_MEMORY, "%.200s: out of memory", place->what);
    return false;
}

bool json_read_object(const struct json_place *place, const json_t *value)
{
    if (!value)
        return json_place_refuse(place, "missing");
    return json_is_object(value) || json_place_refuse(place, "must be an object");
}

bool json_read_array(const struct json_place *place, const json_t *value, size_t minimum,
                     size_t maximum)
{
    if (!value)
        return json_place_refuse(place, "missing");
    if (!json_is_array(value))
        return json_place_refuse(place, "must be an array");
    if (json_array_size(value) < minimum)
        return json_place_refuse(place, "must have at least %zu member%s", minimum,
                                 minimum == 1 ? "" : "s");
    if (json_array_size(value) > maximum)
        return json_place_refuse(place, "must have at most %zu members", maximum);
    return true;
}

bool json_read_string(const struct json_place *place, const json_t *value, size_t minimum,
                      size_t maximum, const char **ret)
{
    if (!value)
        return json_place_refuse(place, "missing");
    if (!json_is_string(value))
        return json_place_refuse(place, "must be a string");
    size_t length = json_string_length(value);
    if (length < minimum)
        return json_place_refuse(place, "must not be empty");
    if (length > maximum)
        return json_place_refuse(place, "must be at most %zu bytes long, has %zu", maximum, length);
    /* json_input_parse() lets no NUL in; values from elsewhere are held to the same. */
    if (strlen(json_string_value(value)) != length)
        return json_place_refuse(place, "NUL character");
    *ret = json_string_value(value);
    return true;
}

bool json_read_member_string(const struct json_place *place, const json_t *object, const char *name,
                             const char **ret)
{
    const json_t *value = json_object_get(object, name);
    struct json_place member = json_place_named(place, name);
    return !value || json_read_string(&member, value, 0, SIZE_MAX, ret);
}

bool json_check_no_control(const struct json_place *place, const char *text)
{
    for (const char *byte = text; *byte != '\0'; byte++)
        if ((unsigned char)*byte < 0x20 || *byte == 0x7F)
            return json_place_refuse(place, "must not hold control characters");
    return true;
}

bool json_check_printable(const struct json_place *place, const char *text)
{
    return ascii_is_printable(text) ||
           json_place_refuse(place, "must be printable ASCII without blanks");
}

bool json_read_integer(const struct json_place *place, const json_t *value, int64_t minimum,
                       int64_t maximum, int64_t *ret)
{
    if (!value)
        return json_place_refuse(place, "missing");
    if (!json_is_integer(value) || json_integer_value(value) < minimum ||
        json_integer_value(value) > maximum)
        return json_place_refuse(place, "must be an integer between %lld and %lld",
                                 (long long)minimum, (long long)maximum);
    *ret = json_integer_value(value);
    return true;
}

bool json_read_boolean(const struct json_place *place, const json_t *value, bool *ret)
{
    if (!value)
        return json_place_refuse(place, "missing");
    if (!json_is_boolean(value))
        return json_place_refuse(place, "must be true or false");
    *ret = json_is_true(value);
    return true;
}

static bool contains(const char *const *names, const char *name, size_t length)
{
    for (; *names; names++) {
        if (strlen(*names) == length && memcmp(*names, name, length) == 0)
            return true;
    }
    return false;
}

bool json_read_known_members(const struct json_place *place, const json_t *value,
                             const char *const *names)
{
    const char *name;
    size_t length;
    json_t *member;

    if (!json_read_object(place, value))
        return false;
    json_t *object = (json_t *)(uintptr_t)value; /* the iterator does not change it */
    json_object_keylen_foreach(object, name, length, member)
    {
        if (!contains(names, name, length)) {
            struct json_place unknown = json_place_member(place, name, length);
            return json_place_refuse(&unknown, "unknown member");
        }
    }
    return true;
}
