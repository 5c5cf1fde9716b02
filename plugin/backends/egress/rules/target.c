/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the normal form of paths (RFC 3986 section 6.2.2) and what is refused: see target.h. Runs in
 * the broker. */
#include "backends/egress/rules/target.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/glob.h"

static const char hexadecimal[] = "0123456789ABCDEF";

static bool is_unreserved(unsigned char byte)
{
    return (byte < 0x80 && isalnum(byte)) || (byte && strchr("-._~", byte));
}

/* What may stand in a path as it is (RFC 3986: pchar). ";" is not among them: servers differ in
 * what a parameter of a segment is. */
static bool is_path_character(unsigned char byte)
{
    return is_unreserved(byte) || (byte && strchr("!$&'()*+,=:@/", byte));
}

static int hex_digit(char digit)
{
    const char *place = digit ? strchr(hexadecimal, toupper((unsigned char)digit)) : NULL;
    return place ? (int)(place - hexadecimal) : -1;
}

/* The byte behind a percent sign, -1 where it is no encoding. */
static int encoded_byte(const char *text)
{
    int high = hex_digit(text[0]);
    int low = high < 0 ? -1 : hex_digit(text[1]);
    return low < 0 ? -1 : high * 16 + low;
}

static const char *fault_of_encoded(int byte)
{
    if (byte < 0)
        return "the path has a percent sign that encodes nothing";
    if (byte < 0x20 || byte == 0x7f)
        return "the path has an encoded control character";
    if (byte == '/' || byte == '\\')
        return "the path has an encoded slash or backslash";
    if (byte == ';')
        return "the path has a semicolon";
    return NULL;
}

/* Writes the normal form to ret, which has room for all of raw. NULL, or the fault. */
static const char *normalise(const char *raw, size_t length, char *ret)
{
    for (size_t i = 0; i < length; i++) {
        if (raw[i] == '%') {
            int byte = encoded_byte(raw + i + 1);
            const char *fault = fault_of_encoded(byte);
            if (fault)
                return fault;
            if (is_unreserved((unsigned char)byte)) {
                *ret++ = (char)byte;
            } else {
                *ret++ = '%';
                *ret++ = hexadecimal[byte / 16];
                *ret++ = hexadecimal[byte % 16];
            }
            i += 2;
        } else if (raw[i] == ';') {
            return "the path has a semicolon";
        } else if (raw[i] == '\\') {
            return "the path has a backslash";
        } else if (!is_path_character((unsigned char)raw[i])) {
            return "the path has a character that must be percent-encoded";
        } else {
            *ret++ = raw[i];
        }
    }
    *ret = '\0';
    return NULL;
}

/* Of the normal form: a percent sign may be encoded, but not ahead of what would be another
 * encoding for a server that decodes twice. */
static const char *fault_of_segments(const char *path)
{
    for (const char *sign = path; (sign = strstr(sign, "%25")) != NULL; sign += 3)
        if (encoded_byte(sign + 3) >= 0)
            return "the path is percent-encoded twice";
    while (*path) {
        size_t length = strcspn(++path, "/");
        if (length == 0 && path[0] == '/')
            return "the path has an empty segment";
        if ((length == 1 && path[0] == '.') || (length == 2 && strncmp(path, "..", 2) == 0))
            return "the path has a dot segment";
        path += length;
    }
    return NULL;
}

static const char *fault_of_query(const char *query)
{
    for (; query && *query; query++)
        if (*query <= 0x20 || *query >= 0x7f || strchr("\"<>\\^`{|}#", *query))
            return "the query has a character that must be percent-encoded";
    return NULL;
}

char *printable_text(const char *text, size_t limit)
{
    size_t length = strlen(text);
    if (length > limit)
        length = limit;
    char *copy = malloc(3 * length + 1);
    size_t used = 0;
    for (size_t i = 0; copy && i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool plain = byte > 0x20 && byte < 0x7f;
        if (used + (plain ? 1 : 3) > limit)
            break;
        if (plain) {
            copy[used++] = text[i];
        } else {
            copy[used++] = '%';
            copy[used++] = hexadecimal[byte / 16];
            copy[used++] = hexadecimal[byte % 16];
        }
    }
    if (copy)
        copy[used] = '\0';
    return copy;
}

char *percent_encode(const unsigned char *bytes, size_t length)
{
    char *text = malloc(3 * length + 1);
    char *next = text;
    for (size_t i = 0; text && i < length; i++) {
        if (is_unreserved(bytes[i])) {
            *next++ = (char)bytes[i];
        } else {
            *next++ = '%';
            *next++ = hexadecimal[bytes[i] / 16];
            *next++ = hexadecimal[bytes[i] % 16];
        }
    }
    if (text)
        *next = '\0';
    return text;
}

/* What cannot be taken apart into name and path. */
static bool fill_unreadable(const char *raw, const char *fault, struct target *ret)
{
    ret->fault = fault;
    ret->name = strdup("");
    ret->path = printable_text(raw, EGRESS_PATH_LIMIT);
    return ret->name && ret->path;
}

bool target_parse(const char *raw, struct target *ret)
{
    *ret = (struct target){0};
    if (strlen(raw) > TARGET_LIMIT)
        return fill_unreadable(raw, "the request's target is too long", ret);
    if (raw[0] != '/')
        return fill_unreadable(raw, "the request's target must be a path", ret);
    if (strchr(raw, '#'))
        return fill_unreadable(raw, "the request's target has a fragment", ret);
    size_t whole = strcspn(raw, "?");
    size_t name_length = strcspn(raw + 1, "/?");
    const char *rest = raw + 1 + name_length;
    size_t rest_length = (size_t)(raw + whole - rest);
    CLEANUP_FREE char *path = malloc(rest_length + 2);
    ret->name = strndup(raw + 1, name_length);
    ret->query = raw[whole] ? strdup(raw + whole + 1) : NULL;
    if (!path || !ret->name || (raw[whole] && !ret->query))
        return false;
    ret->fault = normalise(rest_length ? rest : "/", rest_length ? rest_length : 1, path);
    if (!ret->fault)
        ret->fault = fault_of_segments(path);
    if (!ret->fault)
        ret->fault = fault_of_query(ret->query);
    if (ret->fault) {
        CLEANUP_FREE char *as_sent = strndup(rest, rest_length);
        ret->path = as_sent ? printable_text(as_sent, EGRESS_PATH_LIMIT) : NULL;
    } else {
        ret->path = TAKE_POINTER(path);
    }
    return ret->path != NULL;
}

void target_clear(struct target *target)
{
    free(target->name);
    free(target->path);
    free(target->query);
    *target = (struct target){0};
}

/* Whether the bytes of a parameter's name, decoded, are that name. "+" is a blank there. */
static bool is_name(const char *encoded, size_t length, const char *name)
{
    size_t i = 0;
    for (; i < length && *name; name++) {
        int byte = (unsigned char)encoded[i];
        if (byte == '%' && i + 2 < length && encoded_byte(encoded + i + 1) >= 0) {
            byte = encoded_byte(encoded + i + 1);
            i += 2;
        } else if (byte == '+') {
            byte = ' ';
        }
        i++;
        if (tolower(byte) != tolower((unsigned char)*name))
            return false;
    }
    return i == length && !*name;
}

bool target_has_parameter(const char *query, const char *name)
{
    while (query && *query) {
        size_t length = strcspn(query, "&;");
        size_t name_length = strcspn(query, "=&;");
        if (is_name(query, name_length, name))
            return true;
        query += length + (query[length] != '\0');
    }
    return false;
}

static bool has_method(const struct egress_rule *rule, const char *method)
{
    for (char *const *allowed = rule->methods; *allowed; allowed++)
        if (strcmp(*allowed, method) == 0)
            return true;
    return false;
}

/* Both begin with "/", which glob_matches() does not know. */
static bool has_path(const struct egress_rule *rule, const char *path)
{
    for (char *const *pattern = rule->paths; *pattern; pattern++)
        if (strcmp(*pattern, path) == 0 || glob_matches(*pattern + 1, path + 1))
            return true;
    return false;
}

enum rule_outcome rules_judge(const struct egress_endpoint *endpoint, const char *method,
                              const char *path)
{
    bool method_somewhere = false;
    for (size_t i = 0; i < endpoint->rule_count; i++) {
        const struct egress_rule *rule = &endpoint->rules[i];
        if (has_method(rule, method)) {
            method_somewhere = true;
            if (has_path(rule, path))
                return RULE_ALLOWS;
        }
    }
    return method_somewhere ? RULE_NOT_PATH : RULE_NOT_METHOD;
}
