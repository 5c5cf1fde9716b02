/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of a kubeconfig's form: see block_text.h. Runs in the kubernetes backend. */
#include "backends/kubernetes/api/block_text.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

struct span {
    const char *begin;
    const char *end;
};

struct reader {
    const char *next; /* the line behind the current one */
    const char *end;
    size_t number; /* of the current line; 0: none was read */
    size_t indent; /* of its content: "- " in front of it counts once that is read */
    struct span content;
    bool is_over;
    bool out_of_memory;
    unsigned int depth;
};

static void trim(struct span *span)
{
    while (span->begin < span->end && *span->begin == ' ')
        span->begin++;
    while (span->begin < span->end && (span->end[-1] == ' ' || span->end[-1] == '\r'))
        span->end--;
}

static bool is_text(struct span span, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(span.end - span.begin) == length && memcmp(span.begin, text, length) == 0;
}

/* The next line that says something. The document may begin with "---". */
static void read_line(struct reader *reader)
{
    while (reader->next < reader->end) {
        const char *begin = reader->next;
        const char *end = memchr(begin, '\n', (size_t)(reader->end - begin));
        reader->next = end ? end + 1 : reader->end;
        reader->number++;
        reader->content = (struct span){begin, end ? end : reader->end};
        trim(&reader->content);
        reader->indent = (size_t)(reader->content.begin - begin);
        bool is_first_mark = reader->number == 1 && is_text(reader->content, "---");
        if (reader->content.begin < reader->content.end && *reader->content.begin != '#' &&
            !is_first_mark)
            return;
    }
    reader->is_over = true;
}

static json_t *string_of(struct reader *reader, struct span span)
{
    json_t *string = json_stringn(span.begin, (size_t)(span.end - span.begin));
    if (!string)
        reader->out_of_memory = true; /* or not UTF-8 */
    return string;
}

/* Behind a value only a comment may come. */
static bool is_rest(struct span rest)
{
    bool has_blank = rest.begin < rest.end && *rest.begin == ' ';
    trim(&rest);
    return rest.begin == rest.end || (has_blank && *rest.begin == '#');
}

/* JSON's escapes are among those of YAML; the others are not known here. */
static json_t *read_double_quoted(struct span span, struct span *ret_rest)
{
    const char *c = span.begin + 1;
    while (c < span.end && *c != '"')
        c += *c == '\\' && c + 1 < span.end ? 2 : 1;
    if (c >= span.end)
        return NULL;
    *ret_rest = (struct span){c + 1, span.end};
    return json_loadb(span.begin, (size_t)(c + 1 - span.begin), JSON_DECODE_ANY, NULL);
}

static json_t *read_single_quoted(struct reader *reader, struct span span, struct span *ret_rest)
{
    size_t length = 0;
    CLEANUP_FREE char *text = malloc((size_t)(span.end - span.begin) + 1);
    if (!text) {
        reader->out_of_memory = true;
        return NULL;
    }
    for (const char *c = span.begin + 1; c < span.end; c++) {
        bool is_double = c + 1 < span.end && c[1] == '\'';
        if (*c == '\'' && !is_double) {
            *ret_rest = (struct span){c + 1, span.end};
            return string_of(reader, (struct span){text, text + length});
        }
        c += *c == '\'';
        text[length++] = *c;
    }
    return NULL;
}

/* Up to a comment. NULL: it is more than plain. */
static json_t *read_plain(struct reader *reader, struct span span)
{
    for (const char *c = span.begin; c + 1 < span.end; c++) {
        if (*c == ' ' && c[1] == '#')
            span.end = c;
        else if (*c == ':' && c[1] == ' ')
            return NULL;
    }
    trim(&span);
    if (span.begin == span.end || is_text(span, "null") || is_text(span, "~"))
        return json_null();
    if (is_text(span, "true") || is_text(span, "false"))
        return json_boolean(*span.begin == 't');
    if (is_text(span, "{}"))
        return json_object();
    if (is_text(span, "[]"))
        return json_array();
    return strchr("&*!|>%@`[]{},?#\"'\t", *span.begin) ? NULL : string_of(reader, span);
}

static json_t *read_scalar(struct reader *reader, struct span span)
{
    struct span rest = {span.end, span.end};
    json_t *value = NULL;
    if (span.begin < span.end && *span.begin == '"')
        value = read_double_quoted(span, &rest);
    else if (span.begin < span.end && *span.begin == '\'')
        value = read_single_quoted(reader, span, &rest);
    else
        value = read_plain(reader, span);
    if (value && is_rest(rest))
        return value;
    json_decref(value);
    return NULL;
}

static bool is_item(const struct reader *reader)
{
    const struct span *content = &reader->content;
    return !reader->is_over && *content->begin == '-' &&
           (content->begin + 1 == content->end || content->begin[1] == ' ');
}

/* KEY and what is behind its colon. false: the line is none of a mapping. */
static bool split_line(struct reader *reader, json_t **ret_key, struct span *ret_rest)
{
    struct span content = reader->content;
    const char *colon = content.begin;
    json_t *key = NULL;
    if (*content.begin == '"') {
        struct span rest;
        key = read_double_quoted(content, &rest);
        colon = key ? rest.begin : content.end;
    } else {
        while (colon < content.end &&
               !(*colon == ':' && (colon + 1 == content.end || colon[1] == ' ')))
            colon++;
        if (colon < content.end && colon > content.begin)
            key = read_plain(reader, (struct span){content.begin, colon});
    }
    if (!json_is_string(key) || colon >= content.end || *colon != ':') {
        json_decref(key);
        return false;
    }
    *ret_key = key;
    *ret_rest = (struct span){colon + 1, content.end};
    return true;
}

static json_t *read_block(struct reader *reader);

static bool has_only_comment(struct span rest)
{
    trim(&rest);
    return rest.begin == rest.end || *rest.begin == '#';
}

/* What a key has: behind it, or on the lines below, where a sequence may be as far left as the key.
 */
static json_t *read_value(struct reader *reader, struct span rest, size_t indent)
{
    if (!has_only_comment(rest)) {
        trim(&rest);
        json_t *value = read_scalar(reader, rest);
        if (value)
            read_line(reader);
        return value;
    }
    read_line(reader);
    if (!reader->is_over &&
        (reader->indent > indent || (reader->indent == indent && is_item(reader))))
        return read_block(reader);
    return json_null();
}

/* false: not that of a mapping, or a key comes twice. */
static bool read_member(struct reader *reader, json_t *object, size_t indent)
{
    json_auto_t *key = NULL;
    struct span rest;
    if (reader->indent != indent || is_item(reader) || !split_line(reader, &key, &rest) ||
        json_object_get(object, json_string_value(key)))
        return false;
    json_t *value = read_value(reader, rest, indent);
    return value && json_object_set_new(object, json_string_value(key), value) == 0;
}

static json_t *read_mapping(struct reader *reader)
{
    size_t indent = reader->indent;
    json_auto_t *object = json_object();
    while (!reader->is_over && reader->indent >= indent && !is_item(reader))
        if (!object || !read_member(reader, object, indent))
            return NULL;
    return TAKE_POINTER(object);
}

/* What is behind "- " is as if it stood there alone. */
static json_t *read_item(struct reader *reader, size_t indent)
{
    struct span rest = {reader->content.begin + 1, reader->content.end};
    json_t *key = NULL;
    struct span behind;
    if (has_only_comment(rest))
        return read_value(reader, rest, indent + 1);
    const char *begin = reader->content.begin;
    trim(&rest);
    reader->content = rest;
    if (is_item(reader))
        return NULL; /* a sequence in a sequence's line */
    if (!split_line(reader, &key, &behind)) {
        json_t *value = read_scalar(reader, rest);
        if (value)
            read_line(reader);
        return value;
    }
    json_decref(key);
    reader->indent += (size_t)(rest.begin - begin);
    return read_block(reader);
}

static json_t *read_sequence(struct reader *reader)
{
    size_t indent = reader->indent;
    json_auto_t *array = json_array();
    while (reader->indent == indent && is_item(reader)) {
        json_t *item = array ? read_item(reader, indent) : NULL;
        if (!item || json_array_append_new(array, item) != 0)
            return NULL;
    }
    return TAKE_POINTER(array);
}

static json_t *read_block(struct reader *reader)
{
    if (reader->depth == BLOCK_TEXT_DEPTH)
        return NULL;
    reader->depth++;
    json_t *value = is_item(reader) ? read_sequence(reader) : read_mapping(reader);
    reader->depth--;
    return value;
}

static json_t *read_json(const char *text, size_t length, size_t *ret_line)
{
    json_error_t error;
    json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    *ret_line = json || error.line < 1 ? 0 : (size_t)error.line;
    return json;
}

json_t *block_text_read(const char *text, size_t length, size_t *ret_line)
{
    struct reader reader = {.next = text, .end = text + length};
    read_line(&reader);
    if (!reader.is_over && *reader.content.begin == '{')
        return read_json(text, length, ret_line);
    *ret_line = 1;
    if (reader.is_over)
        return NULL;
    json_auto_t *value = read_block(&reader);
    *ret_line = reader.out_of_memory ? 0 : reader.number;
    return value && reader.is_over ? TAKE_POINTER(value) : NULL;
}
