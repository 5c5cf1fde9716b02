/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the matching of paths: see glob.h. */
#include "base/glob.h"

#include <stddef.h>
#include <string.h>

/* A part of a pattern or of a path, between two slashes. */
struct part {
    const char *text;
    size_t length;
};

static struct part first_part(const char *path)
{
    return (struct part){path, strcspn(path, "/")};
}

/* The one behind it; its text is NULL at the end. */
static struct part next_part(struct part part)
{
    const char *end = part.text + part.length;
    return *end == '/' ? first_part(end + 1) : (struct part){NULL, 0};
}

/* The length of the set that begins with "[", 0: it does not end. */
static size_t set_length(const char *set, size_t length)
{
    size_t i = 1;
    if (i < length && set[i] == '!')
        i++;
    /* A "]" in the first place is a member. */
    for (i++; i < length; i++)
        if (set[i] == ']')
            return i + 1;
    return 0;
}

static bool set_has(const char *set, size_t length, unsigned char byte)
{
    bool negated = set[1] == '!';
    bool found = false;
    for (size_t i = negated ? 2 : 1; i < length - 1; i++) {
        unsigned char low = (unsigned char)set[i];
        unsigned char high = low;
        if (i + 2 < length - 1 && set[i + 1] == '-') {
            high = (unsigned char)set[i + 2];
            i += 2;
        }
        found |= low <= byte && byte <= high;
    }
    return found != negated;
}

static size_t character_length(const char *text, size_t length)
{
    size_t count = 1;
    while (count < length && ((unsigned char)text[count] & 0xc0) == 0x80)
        count++;
    return count;
}

/* One step of the pattern that is no star: how much of both it takes. false: it does not fit. */
static bool take_one(struct part pattern, struct part text, size_t *ret_pattern, size_t *ret_text)
{
    size_t set;
    *ret_pattern = *ret_text = 1;
    if (text.length == 0 || pattern.length == 0)
        return false;
    if (pattern.text[0] == '?') {
        *ret_text = character_length(text.text, text.length);
        return true;
    }
    if (pattern.text[0] == '[' && (set = set_length(pattern.text, pattern.length)) > 0) {
        *ret_pattern = set;
        return set_has(pattern.text, set, (unsigned char)text.text[0]);
    }
    return pattern.text[0] == text.text[0];
}

static struct part skip(struct part part, size_t count)
{
    return (struct part){part.text + count, part.length - count};
}

/* Only the last star ever has to be tried again: what an earlier one takes more, it could take. */
static bool part_matches(struct part pattern, struct part text)
{
    struct part star = {NULL, 0};
    struct part tried = text;
    if (text.text[0] == '.' && pattern.length > 0 && pattern.text[0] != '.')
        return false;
    while (text.length > 0 || pattern.length > 0) {
        size_t of_pattern, of_text;
        if (pattern.length > 0 && pattern.text[0] == '*') {
            star = pattern = skip(pattern, 1);
            tried = text;
        } else if (take_one(pattern, text, &of_pattern, &of_text)) {
            pattern = skip(pattern, of_pattern);
            text = skip(text, of_text);
        } else if (star.text && tried.length > 0) {
            tried = text = skip(tried, 1);
            pattern = star;
        } else {
            return false;
        }
    }
    return true;
}

static bool is_any_depth(struct part pattern)
{
    return pattern.text && pattern.length == 2 && memcmp(pattern.text, "**", 2) == 0;
}

/* As in part_matches(), with "**" for the star and parts for characters. */
bool glob_matches(const char *pattern, const char *path)
{
    struct part wanted = first_part(pattern);
    struct part found = first_part(path);
    struct part behind = {NULL, 0};
    struct part tried = {NULL, 0};
    bool any_depth = false;
    while (found.text) {
        if (is_any_depth(wanted)) {
            any_depth = true;
            behind = wanted = next_part(wanted);
            tried = found;
            if (!wanted.text) /* everything below, but not what is hidden */
                break;
        } else if (wanted.text && part_matches(wanted, found)) {
            wanted = next_part(wanted);
            found = next_part(found);
        } else if (any_depth && tried.text[0] != '.') {
            tried = found = next_part(tried);
            wanted = behind;
        } else {
            return false;
        }
    }
    if (!found.text)
        return !wanted.text;
    for (; found.text; found = next_part(found))
        if (found.text[0] == '.')
            return false;
    return true;
}
