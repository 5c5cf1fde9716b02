/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of JSON in place: see json_slice.h. */
#include "interpreter/tool_command/json_slice.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct json_slice behind(struct json_slice text, size_t length)
{
    return (struct json_slice){text.at + length, text.length - length};
}

static struct json_slice skip(struct json_slice text, const char *characters)
{
    size_t length = 0;
    while (length < text.length && text.at[length] != '\0' && strchr(characters, text.at[length]))
        length++;
    return behind(text, length);
}

/* Of the string at the begin, with its quotes. 0: it has no end. */
static size_t string_length(struct json_slice text)
{
    for (size_t i = 1; i < text.length; i++) {
        if (text.at[i] == '"')
            return i + 1;
        i += text.at[i] == '\\';
    }
    return 0;
}

/* Of the value at the begin; 0: there is none. */
static size_t value_length(struct json_slice text)
{
    size_t depth = 0;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.at[i];
        if (depth == 0 && i > 0 && strchr(" \t\r\n,:]}", c))
            return i;
        if (c == '"') {
            size_t length = string_length(behind(text, i));
            if (length == 0)
                return 0;
            i += length - 1;
        } else if (c == '[' || c == '{') {
            depth++;
        } else if (c == ']' || c == '}') {
            if (depth <= 1)
                return depth == 0 ? 0 : i + 1;
            depth--;
        }
    }
    return depth == 0 ? text.length : 0;
}

struct json_slice json_slice_open(struct json_slice container)
{
    container = skip(container, " \t\r\n");
    return container.length > 0 ? behind(container, 1) : container;
}

bool json_slice_next(struct json_slice *left, struct json_slice *ret)
{
    struct json_slice text = skip(*left, " \t\r\n,:");
    size_t length = value_length(text);
    if (length == 0)
        return false;
    *ret = (struct json_slice){text.at, length};
    *left = behind(text, length);
    return true;
}

bool json_slice_member(struct json_slice object, const char *name, struct json_slice *ret)
{
    struct json_slice left = json_slice_open(object);
    struct json_slice key;
    struct json_slice value;
    size_t length = strlen(name);
    while (json_slice_next(&left, &key) && json_slice_next(&left, &value)) {
        if (key.length == length + 2 && memcmp(key.at + 1, name, length) == 0) {
            *ret = value;
            return true;
        }
    }
    return false;
}

/* Four hexadecimal digits behind \u; false: they are none. */
static bool read_unit(struct json_slice text, size_t at, uint32_t *ret)
{
    static const char digits[] = "0123456789abcdef";
    uint32_t unit = 0;
    if (text.length < 6 || at > text.length - 6 || text.at[at] != '\\' || text.at[at + 1] != 'u')
        return false;
    for (size_t i = at + 2; i < at + 6; i++) {
        char c = text.at[i];
        const char *digit = c == '\0' ? NULL : strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c);
        if (!digit)
            return false;
        unit = unit << 4 | (uint32_t)(digit - digits);
    }
    *ret = unit;
    return true;
}

static size_t put_character(uint32_t character, char *ret)
{
    if (character < 0x80) {
        ret[0] = (char)character;
        return 1;
    }
    size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, character >>= 6)
        ret[i] = (char)(0x80 | (character & 0x3F));
    ret[0] = (char)((0xF00U >> length & 0xF0U) | character);
    return length;
}

/* The escape there, as UTF-8; no longer than it was. *at goes behind it. */
static size_t put_escape(struct json_slice text, size_t *at, char *ret)
{
    static const char names[] = "bfnrt";
    static const char meant[] = "\b\f\n\r\t";
    uint32_t unit;
    uint32_t low;
    if (!read_unit(text, *at, &unit)) {
        char c = text.at[*at + 1];
        const char *name = c == '\0' ? NULL : strchr(names, c);
        *at += 2;
        *ret = c;
        if (name)
            *ret = meant[name - names];
        return 1;
    }
    *at += 6;
    if (unit >= 0xD800 && unit < 0xDC00 && read_unit(text, *at, &low) && low >= 0xDC00 &&
        low < 0xE000) {
        *at += 6;
        unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
    return put_character(unit, ret);
}

char *json_slice_text(struct json_slice string)
{
    if (string.length < 2 || string.at[0] != '"' || string_length(string) != string.length)
        return NULL;
    struct json_slice text = {string.at + 1, string.length - 2};
    char *ret = malloc(text.length + 1);
    size_t length = 0;
    for (size_t i = 0; ret && i < text.length;) {
        if (text.at[i] == '\\')
            length += put_escape(text, &i, ret + length);
        else
            ret[length++] = text.at[i++];
    }
    if (ret)
        ret[length] = '\0';
    return ret;
}
