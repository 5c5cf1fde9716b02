/* SPDX-License-Identifier: Apache-2.0 */
/* Reads recorded inventories: see inventory.h. Pure code; the text may be anything. */
#include "environments/inventory.h"

#include <string.h>

/* A part of a text. */
struct span {
    const char *bytes;
    size_t length;
};

/* Takes the next line, without its end. false: there is none. */
static bool next_line(struct span *text, struct span *ret)
{
    if (text->length == 0)
        return false;
    const char *end = memchr(text->bytes, '\n', text->length);
    *ret = (struct span){text->bytes, end ? (size_t)(end - text->bytes) : text->length};
    size_t taken = ret->length + (end != NULL);
    text->bytes += taken;
    text->length -= taken;
    return true;
}

/* Goes on behind the next space. */
static bool skip_word(struct span *line, struct span *ret_word)
{
    const char *space = memchr(line->bytes, ' ', line->length);
    if (!space)
        return false;
    *ret_word = (struct span){line->bytes, (size_t)(space - line->bytes)};
    line->length -= ret_word->length + 1;
    line->bytes = space + 1;
    return true;
}

static bool skip_target(struct span *line)
{
    struct span digits;
    size_t length = 0;
    if (!skip_word(line, &digits) || digits.length == 0 || digits.length > 4)
        return false;
    for (size_t i = 0; i < digits.length; i++) {
        if (digits.bytes[i] < '0' || digits.bytes[i] > '9')
            return false;
        length = length * 10 + (size_t)(digits.bytes[i] - '0');
    }
    if (line->length <= length || line->bytes[length] != ' ')
        return false;
    line->bytes += length + 1;
    line->length -= length + 1;
    return true;
}

static bool path_of(struct span line, struct span *ret)
{
    struct span kind;
    struct span size;
    struct span hash;
    if (!skip_word(&line, &kind) || kind.length != 1)
        return false;
    bool found = false;
    if (kind.bytes[0] == 'd')
        found = true;
    else if (kind.bytes[0] == 'f' || kind.bytes[0] == 'x')
        found = skip_word(&line, &size) && skip_word(&line, &hash);
    else if (kind.bytes[0] == 'l')
        found = skip_target(&line);
    *ret = line;
    return found && line.length > 0;
}

/* In the order of the walk, in which a slash is ahead of all other bytes. */
static int rank(char byte)
{
    return byte == '/' ? -1 : (unsigned char)byte;
}

static int compare_paths(struct span one, struct span other)
{
    size_t shared = one.length < other.length ? one.length : other.length;
    for (size_t i = 0; i < shared; i++) {
        int left = rank(one.bytes[i]);
        int right = rank(other.bytes[i]);
        if (left != right)
            return left < right ? -1 : 1;
    }
    return one.length < other.length ? -1 : one.length > other.length;
}

/* Of two lines that differ, of which one may be missing. */
static enum inventory_change judge(bool has_recorded, struct span recorded, bool has_made,
                                   struct span made, struct span *ret_path)
{
    struct span was = {0};
    struct span is = {0};
    if (has_recorded && !path_of(recorded, &was))
        return INVENTORY_CHANGED;
    if (has_made && !path_of(made, &is))
        return INVENTORY_CHANGED;
    int order = has_recorded && has_made ? compare_paths(was, is) : has_recorded ? -1 : 1;
    *ret_path = order <= 0 ? was : is;
    if (order == 0)
        return INVENTORY_CHANGED;
    return order < 0 ? INVENTORY_REMOVED : INVENTORY_ADDED;
}

enum inventory_change inventory_compare(const char *recorded, size_t recorded_length,
                                        const char *made, size_t made_length, const char **ret_path,
                                        size_t *ret_path_length)
{
    struct span left = {recorded, recorded_length};
    struct span right = {made, made_length};
    struct span path = {0};
    enum inventory_change change = INVENTORY_SAME;
    if (recorded_length != made_length || memcmp(recorded, made, made_length) != 0)
        change = INVENTORY_CHANGED;
    while (change != INVENTORY_SAME) {
        struct span was = {0};
        struct span is = {0};
        bool has_was = next_line(&left, &was);
        bool has_is = next_line(&right, &is);
        if (!has_was && !has_is)
            break; /* they differ in the end of the last line */
        if (has_was && has_is && was.length == is.length &&
            memcmp(was.bytes, is.bytes, is.length) == 0)
            continue;
        change = judge(has_was, was, has_is, is, &path);
        break;
    }
    *ret_path = path.bytes;
    *ret_path_length = path.length;
    return change;
}
