/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of a kubeconfig's form: see yaml_document.h. Runs in the kubernetes backend. */
#include "backends/kubernetes/api/yaml_document.h"

#include <stdbool.h>
#include <string.h>
#include <yaml.h>

#include "base/cleanup.h"

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one; after a failure the one that was refused */
    unsigned int nodes;
    unsigned int depth;
};

/* The next event is the current one. YAML_NO_EVENT: the text is not YAML. */
static yaml_event_type_t read_event(struct reader *reader)
{
    yaml_event_delete(&reader->event);
    return yaml_parser_parse(&reader->parser, &reader->event) ? reader->event.type : YAML_NO_EVENT;
}

static json_t *read_plain(const char *text, size_t length)
{
    if (length == 0 || strcmp(text, "null") == 0 || strcmp(text, "~") == 0)
        return json_null();
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return json_boolean(*text == 't');
    return strcmp(text, "<<") == 0 ? NULL : json_stringn(text, length);
}

static json_t *read_scalar(const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (event->data.scalar.anchor || event->data.scalar.tag || strlen(text) != length)
        return NULL;
    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? read_plain(text, length)
                                                               : json_stringn(text, length);
}

static json_t *read_node(struct reader *reader);

/* jansson does not add NULL, which read_node() may return. */
static json_t *read_sequence(struct reader *reader)
{
    json_auto_t *array = json_array();
    if (reader->event.data.sequence_start.anchor || reader->event.data.sequence_start.tag)
        return NULL;
    while (read_event(reader) != YAML_SEQUENCE_END_EVENT)
        if (json_array_append_new(array, read_node(reader)) != 0)
            return NULL;
    return TAKE_POINTER(array);
}

static json_t *read_mapping(struct reader *reader)
{
    json_auto_t *object = json_object();
    if (reader->event.data.mapping_start.anchor || reader->event.data.mapping_start.tag)
        return NULL;
    while (read_event(reader) != YAML_MAPPING_END_EVENT) {
        json_auto_t *key = read_node(reader);
        const char *name = json_string_value(key);
        if (!name || json_object_get(object, name))
            return NULL;
        (void)read_event(reader);
        if (json_object_set_new(object, name, read_node(reader)) != 0)
            return NULL;
    }
    return TAKE_POINTER(object);
}

/* That begins with the current event, up to its last one. */
static json_t *read_node(struct reader *reader)
{
    yaml_event_type_t type = reader->event.type;
    json_t *value = NULL;
    if (++reader->nodes > YAML_DOCUMENT_NODES)
        return NULL;
    if (type == YAML_SCALAR_EVENT)
        return read_scalar(&reader->event);
    bool fits = ++reader->depth <= YAML_DOCUMENT_DEPTH;
    if (fits && type == YAML_MAPPING_START_EVENT)
        value = read_mapping(reader);
    else if (fits && type == YAML_SEQUENCE_START_EVENT)
        value = read_sequence(reader);
    reader->depth--;
    return value;
}

static bool pass_events(struct reader *reader, yaml_event_type_t first, yaml_event_type_t second)
{
    return read_event(reader) == first && read_event(reader) == second;
}

static json_t *read_document(struct reader *reader)
{
    if (!pass_events(reader, YAML_STREAM_START_EVENT, YAML_DOCUMENT_START_EVENT))
        return NULL;
    (void)read_event(reader);
    json_auto_t *value = read_node(reader);
    if (!value || !pass_events(reader, YAML_DOCUMENT_END_EVENT, YAML_STREAM_END_EVENT))
        return NULL;
    return TAKE_POINTER(value);
}

/* libyaml finds a character that YAML does not have before it has counted the line. */
static size_t find_line(const struct reader *reader, const char *text, size_t length)
{
    const yaml_parser_t *parser = &reader->parser;
    size_t line = 1;
    if (parser->error == YAML_NO_ERROR)
        return reader->event.start_mark.line + 1;
    if (parser->error != YAML_READER_ERROR)
        return parser->problem_mark.line + 1;
    for (size_t i = 0; i < length && i < parser->problem_offset; i++)
        line += text[i] == '\n';
    return line;
}

json_t *yaml_document_read(const char *text, size_t length, size_t *ret_line)
{
    struct reader reader = {.nodes = 0};
    *ret_line = 1;
    if (!yaml_parser_initialize(&reader.parser))
        return NULL;
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
    json_t *value = read_document(&reader);
    if (!value)
        *ret_line = find_line(&reader, text, length);
    yaml_event_delete(&reader.event);
    yaml_parser_delete(&reader.parser);
    return value;
}
