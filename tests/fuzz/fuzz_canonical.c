/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical JSON: it says what the value said, the order of members makes no difference, it is as
 * short as can be, and its names stand in the order of their UTF-16 code units. */
#include <jansson.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "json/canonical.h"

#define FLAGS       (JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES)
#define DEPTH_LIMIT 128 /* beyond it there is no canonical form */

/* Whether the value has one: no real number, and not too deep. */
static bool has_form(json_t *value, size_t depth)
{
    const char *name;
    size_t i;
    json_t *member;
    if (depth > DEPTH_LIMIT || json_is_real(value))
        return false;
    json_object_foreach(value, name, member)
    {
        if (!has_form(member, depth + 1))
            return false;
    }
    json_array_foreach(value, i, member)
    {
        if (!has_form(member, depth + 1))
            return false;
    }
    return true;
}

/* The same with the members of each object the other way round. */
static json_t *turn_round(json_t *value)
{
    size_t i;
    json_t *member;
    if (json_is_array(value)) {
        json_t *array = json_array();
        json_array_foreach(value, i, member)
        {
            MUST(json_array_append_new(array, turn_round(member)) == 0);
        }
        return array;
    }
    if (!json_is_object(value))
        return json_deep_copy(value);
    size_t count = json_object_size(value);
    CLEANUP_FREE void **members = calloc(count + 1, sizeof(*members));
    MUST(members != NULL);
    i = 0;
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at))
        members[i++] = at;
    json_t *object = json_object();
    while (i-- > 0)
        MUST(json_object_setn_new(object, json_object_iter_key(members[i]),
                                  json_object_iter_key_len(members[i]),
                                  turn_round(json_object_iter_value(members[i]))) == 0);
    return object;
}

/* The character at *text, which it is moved beyond. */
static uint32_t next_character(const char **text)
{
    const unsigned char *bytes = (const unsigned char *)*text;
    size_t length = utf8_sequence(bytes, strlen(*text));
    MUST(length > 0);
    uint32_t character = length == 1 ? bytes[0] : bytes[0] & (0x7FU >> length);
    for (size_t i = 1; i < length; i++)
        character = character << 6 | (bytes[i] & 0x3FU);
    *text += length;
    return character;
}

/* Its first code unit, as a number that sorts; what follows it cannot matter. */
static uint32_t sort_key(uint32_t character)
{
    return character < 0x10000
               ? character << 10
               : (0xD800 + ((character - 0x10000) >> 10)) << 10 | ((character - 0x10000) & 0x3FF);
}

static bool comes_before(const char *left, const char *right)
{
    while (*left && *right) {
        uint32_t a = sort_key(next_character(&left));
        uint32_t b = sort_key(next_character(&right));
        if (a != b)
            return a < b;
    }
    return *left == '\0' && *right != '\0';
}

/* jansson keeps the order of the text. */
static void must_be_sorted(json_t *value)
{
    const char *before = NULL;
    const char *name;
    size_t i;
    json_t *member;
    json_object_foreach(value, name, member)
    {
        MUST(!before || comes_before(before, name));
        before = name;
        must_be_sorted(member);
    }
    json_array_foreach(value, i, member)
    {
        must_be_sorted(member);
    }
}

static void must_be_utf8(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = strlen(text);
    MUST(utf8_whole_prefix(bytes, length) == length);
    for (size_t i = 0; i < length;) {
        size_t sequence = utf8_sequence(bytes + i, length - i);
        MUST(sequence > 0);
        i += sequence;
    }
}

static void must_be_canonical_of(const char *text, json_t *value)
{
    json_auto_t *again = json_loads(text, FLAGS, NULL);
    json_auto_t *turned = turn_round(value);
    CLEANUP_FREE char *of_again = canonical_json(again);
    CLEANUP_FREE char *of_turned = canonical_json(turned);
    CLEANUP_FREE char *compact = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    must_be_utf8(text);
    MUST(json_equal(again, value));
    MUST(of_again && strcmp(of_again, text) == 0);
    MUST(of_turned && strcmp(of_turned, text) == 0);
    MUST(compact && strlen(compact) == strlen(text));
    must_be_sorted(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP_FREE uint8_t *exact = fuzz_exact(data, size);
    json_auto_t *value = json_loadb((const char *)exact, size, FLAGS, NULL);
    if (!value)
        return 0;
    CLEANUP_FREE char *text = canonical_json(value);
    MUST((text != NULL) == has_form(value, 1));
    if (text)
        must_be_canonical_of(text, value);
    return 0;
}
