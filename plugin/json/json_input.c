/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text from outside: bounds before jansson, jansson's verdict, and the pointer of the place
 * afterwards; and merge patches. Pure code; runs in the gateway on the calling thread, possibly
 * with a small stack: only a patch is walked by recursion, which is nested as little as its text.
 */
#include "json/json_input.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "json/json_place.h"

/* One open array or object on the way to a position. */
struct frame {
    bool is_object;
    bool has_name;
    size_t name_start, name_length; /* in the text, JSON escapes as written */
    size_t index;
};

/* The offset behind the string that opens at start; beyond length where it does not close. */
static size_t string_end(const char *text, size_t length, size_t start)
{
    size_t i = start + 1;
    while (i < length && text[i] != '"')
        i += text[i] == '\\' ? 2 : 1;
    return i + 1;
}

/* A name as it is written, its simple escapes resolved: enough to recognise it by. */
static struct json_place place_of_name(const struct json_place *parent, const char *name,
                                       size_t length)
{
    char plain[JSON_POINTER_LIMIT];
    size_t used = 0;
    for (size_t i = 0; i < length && used < sizeof(plain); i++) {
        bool escaped = name[i] == '\\' && i + 1 < length && strchr("\"\\/", name[i + 1]);
        if (escaped)
            i++;
        plain[used++] = name[i];
    }
    return json_place_member(parent, plain, used);
}

static struct json_place place_of_frames(struct json_place place, const char *text,
                                         const struct frame *frames, size_t depth)
{
    for (size_t i = 0; i < depth; i++) {
        if (!frames[i].is_object)
            place = json_place_item(&place, frames[i].index);
        else if (frames[i].has_name)
            place = place_of_name(&place, text + frames[i].name_start, frames[i].name_length);
    }
    return place;
}

static void note_string(struct frame *top, size_t start, size_t end)
{
    if (!top->is_object || top->has_name)
        return;
    top->has_name = true;
    top->name_start = start + 1;
    top->name_length = end - start - 2;
}

static void next_member(struct frame *top)
{
    top->has_name = false;
    top->index++;
}

/* The place of the value that text[0, position) is in the middle of. The text may be broken. */
static struct json_place locate(struct json_place root, const char *text, size_t position)
{
    struct frame frames[JSON_INPUT_DEPTH_LIMIT + 1];
    size_t depth = 0;
    size_t i = 0;

    while (i < position) {
        size_t next = i + 1;
        if (text[i] == '"') {
            next = string_end(text, position, i);
            if (next > position)
                break;
            if (depth > 0)
                note_string(&frames[depth - 1], i, next);
        } else if (text[i] == '{' || text[i] == '[') {
            if (depth == COUNT_OF(frames))
                break;
            frames[depth++] = (struct frame){.is_object = text[i] == '{'};
        } else if (text[i] == '}' || text[i] == ']') {
            depth -= depth > 0;
        } else if (text[i] == ',' && depth > 0) {
            next_member(&frames[depth - 1]);
        }
        i = next;
    }
    return place_of_frames(root, text, frames, depth);
}

/* As long as the text is JSON, this sees the same values as jansson, so jansson never recurses
 * deeper than the limit, nor makes more values: a value takes a hundred times its two bytes of
 * text. */
static bool check_bounds(const struct json_place *root, const char *text, size_t length,
                         const struct json_input_limits *limits)
{
    size_t depth = 0;
    size_t values = 1;
    size_t max_depth =
        limits->max_depth < JSON_INPUT_DEPTH_LIMIT ? limits->max_depth : JSON_INPUT_DEPTH_LIMIT;
    size_t max_values = limits->max_values > 0 ? limits->max_values : JSON_INPUT_VALUES_LIMIT;

    if (length > limits->max_bytes)
        return json_place_refuse(root, "longer than %zu bytes", limits->max_bytes);
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool opens = c == '{' || c == '[';
        if (c == '"')
            i = string_end(text, length, i) - 1;
        else if (c == '}' || c == ']')
            depth -= depth > 0;
        values += opens || c == ',';
        depth += opens;
        if (depth > max_depth) {
            struct json_place place = locate(*root, text, i);
            return json_place_refuse(&place, "nested deeper than %zu", max_depth);
        }
        if (values > max_values)
            return json_place_refuse(root, "more than %zu values", max_values);
    }
    return true;
}

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* For people, who count from 1. */
static void refuse_line(const struct json_place *place, const char *text, size_t at)
{
    size_t line = 1;
    size_t column = 1;
    for (size_t i = 0; i < at; i++) {
        line += text[i] == '\n';
        column = text[i] == '\n' ? 1 : column + 1;
    }
    json_place_refuse(place, "not JSON at line %zu, byte %zu of it", line, column);
}

static void refuse_syntax(const struct json_place *root, const char *text, size_t position,
                          const char *jansson_text)
{
    /* jansson's position is behind the unexpected token. */
    size_t at = position > 0 ? position - 1 : 0;
    struct json_place place = locate(*root, text, at);
    if (begins_with(jansson_text, "invalid Unicode"))
        json_place_refuse(&place, "an escape that is not a Unicode character");
    else if (begins_with(jansson_text, "control character") ||
             begins_with(jansson_text, "unexpected newline"))
        json_place_refuse(&place, "a control character that is not escaped");
    else
        refuse_line(&place, text, at);
}

/* Words jansson's refusal anew; its own message would echo the text. */
static void refuse_by_verdict(const struct json_place *root, const char *text, size_t length,
                              const json_error_t *verdict)
{
    size_t position = verdict->position < 0 ? 0 : (size_t)verdict->position;
    if (position > length)
        position = length;
    struct json_place place = locate(*root, text, position);
    enum json_error_code code = json_error_code(verdict);
    /* Of a lack of memory jansson often says nothing at all. */
    if (code == json_error_out_of_memory || verdict->text[0] == '\0')
        json_place_out_of_memory(root);
    else if (code == json_error_premature_end_of_input)
        json_place_refuse(&place, "the text ends too early");
    else if (code == json_error_end_of_input_expected)
        json_place_refuse(root, "bytes after the object");
    else if (code == json_error_invalid_utf8)
        json_place_refuse(&place, "bad UTF-8");
    else if (code == json_error_null_character || code == json_error_null_byte_in_key)
        json_place_refuse(&place, "NUL character");
    else if (code == json_error_duplicate_key)
        json_place_refuse(&place, "duplicate member");
    else if (code == json_error_numeric_overflow)
        json_place_refuse(&place, "a number out of range");
    else
        refuse_syntax(root, text, position, verdict->text);
}

/* Is there memory for the longest possible token? jansson 2.14 ignores that its buffer for a token
 * could not grow, and then reads and writes behind it unless the next allocation fails too: a large
 * one must not be the first to fail. */
static bool memory_suffices(size_t length)
{
    void *probe = malloc(4 * length + 1);
    free(probe);
    return probe != NULL;
}

json_t *json_input_parse_any(const char *what, const char *text, size_t length,
                             const struct json_input_limits *limits, enum error_code code,
                             struct error *error)
{
    struct json_place root = json_place_root(what, code, error);
    json_error_t verdict = {.text = ""};

    if (!check_bounds(&root, text, length, limits))
        return NULL;
    if (!memory_suffices(length)) {
        json_place_out_of_memory(&root);
        return NULL;
    }
    json_auto_t *value =
        json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &verdict);
    if (!value)
        refuse_by_verdict(&root, text, length, &verdict);
    return TAKE_POINTER(value);
}

json_t *json_input_parse(const char *what, const char *text, size_t length,
                         const struct json_input_limits *limits, enum error_code code,
                         struct error *error)
{
    struct json_place root = json_place_root(what, code, error);
    json_auto_t *value = json_input_parse_any(what, text, length, limits, code, error);
    return value && json_read_object(&root, value) ? TAKE_POINTER(value) : NULL;
}

/* The object to patch below target: the present one, or a new empty one in its place. */
static json_t *object_at(json_t *target, const char *name, size_t length)
{
    json_t *present = json_object_getn(target, name, length);
    if (json_is_object(present))
        return present;
    if (json_object_setn_new(target, name, length, json_object()) < 0)
        return NULL;
    return json_object_getn(target, name, length);
}

static bool patch_member(json_t *target, const char *name, size_t length, json_t *value)
{
    if (json_is_null(value)) {
        (void)json_object_deln(target, name, length); /* not there: nothing to remove */
        return true;
    }
    if (json_is_object(value)) {
        json_t *below = object_at(target, name, length);
        return below && merge_patch(below, value);
    }
    /* Shared, not copied: the merged value is only read afterwards. */
    return json_object_setn(target, name, length, value) == 0;
}

bool merge_patch(json_t *target, json_t *patch)
{
    const char *name;
    size_t length;
    json_t *value;

    json_object_keylen_foreach(patch, name, length, value)
    {
        if (!patch_member(target, name, length, value))
            return false;
    }
    return true;
}
