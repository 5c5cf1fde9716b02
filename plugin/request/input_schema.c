/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input schema. Pure code; runs in the gateway on the calling thread.
 *
 * jansson's setters refuse a NULL value, so a lack of memory anywhere below a setter shows in it.
 */
#include "request/input_schema.h"

#include <stdio.h>

#include "base/cleanup.h"

/* "string", or ["string", "null"] where null may stand for absent. */
static json_t *type_of(const char *name, bool required)
{
    return required ? json_string(name) : json_pack("[ss]", name, "null");
}

static json_t *language_names(void)
{
    size_t count;
    const struct language *languages = languages_all(&count);
    json_auto_t *names = json_array();
    for (size_t i = 0; i < count; i++) {
        if (json_array_append_new(names, json_string(languages[i].name)) < 0)
            return NULL;
    }
    return TAKE_POINTER(names);
}

/* Adds the language's aliases to a text of that size; how long it would be. */
static size_t add_aliases(const char *name, char *text, size_t size, size_t used)
{
    const struct language *language = language_find(name);
    for (size_t i = 0; language && language->aliases[i] && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, " %s", language->aliases[i]);
    return used;
}

/* With the aliases, for models that never read enums twice. */
static json_t *language_description(const char *description, const json_t *names)
{
    char text[512] = "";
    size_t used = 0;
    size_t index;
    const json_t *name;
    json_array_foreach(names, index, name) used =
        add_aliases(json_string_value(name), text, sizeof(text), used);
    if (used == 0)
        return json_string(description);
    return used < sizeof(text)
               ? json_sprintf("%s These names are accepted as well:%s.", description, text)
               : NULL;
}

static json_t *language_schema(const struct request_field *field)
{
    json_auto_t *names = language_names();
    return json_pack("{s:s, s:o, s:O}", "type", "string", "description",
                     language_description(field->description, names), "enum", names);
}

static json_t *plain_schema(const struct request_field *field, const char *type)
{
    return json_pack("{s:o, s:s}", "type", type_of(type, field->required), "description",
                     field->description);
}

static json_t *integer_schema(const struct request_field *field)
{
    return json_pack("{s:o, s:s, s:I, s:I}", "type", type_of("integer", field->required),
                     "description", field->description, "minimum", (json_int_t)field->minimum,
                     "maximum", (json_int_t)field->maximum);
}

static json_t *array_schema(const struct request_field *field, json_t *items)
{
    return json_pack("{s:o, s:s, s:o, s:I}", "type", type_of("array", field->required),
                     "description", field->description, "items", items, "maxItems",
                     (json_int_t)field->limit);
}

static json_t *map_schema(const struct request_field *field, const char *value_description)
{
    return json_pack("{s:o, s:s, s:{s:s, s:s}}", "type", type_of("object", field->required),
                     "description", field->description, "additionalProperties", "type", "string",
                     "description", value_description);
}

static json_t *file_schema(void)
{
    return json_pack(
        "{s:s, s:b, s:[s], s:{s:{s:s, s:s}, s:{s:[ss], s:s}, s:{s:[ss], s:[ssn], s:s}, s:{s:[ss], "
        "s:s}}}",
        "type", "object", "additionalProperties", 0, "required", "path", "properties", "path",
        "type", "string", "description",
        "Path inside the working directory, such as data/in.csv. Relative, without \"..\", at "
        "most 255 bytes.",
        "content", "type", "string", "null", "description",
        "The file's text, or its bytes in base64. Either this or ref.", "encoding", "type",
        "string", "null", "enum", FILE_ENCODING_UTF8, FILE_ENCODING_BASE64, "description",
        "How content is written. Default utf-8.", "ref", "type", "string", "null", "description",
        "Instead of content: the name of a file that you were offered.");
}

static json_t *field_schema(const struct request_field *field)
{
    switch (field->kind) {
    case REQUEST_FIELD_LANGUAGE:
        return language_schema(field);
    case REQUEST_FIELD_STRING:
        return plain_schema(field, "string");
    case REQUEST_FIELD_STRINGS:
        return array_schema(field, json_pack("{s:s}", "type", "string"));
    case REQUEST_FIELD_ENVIRONMENT:
        return map_schema(field, "The variable's value. At most 32 KiB.");
    case REQUEST_FIELD_SECRETS:
        return map_schema(field, "A handle, {{secret:NAME}}, and nothing else.");
    case REQUEST_FIELD_FILES:
        return array_schema(field, file_schema());
    case REQUEST_FIELD_INTEGER:
        return integer_schema(field);
    case REQUEST_FIELD_BOOLEAN:
        return plain_schema(field, "boolean");
    }
    return NULL;
}

json_t *input_schema(void)
{
    size_t count;
    const struct request_field *fields = request_fields(&count);
    json_auto_t *properties = json_object();
    json_auto_t *required = json_array();

    for (size_t i = 0; i < count; i++) {
        if (json_object_set_new(properties, fields[i].name, field_schema(&fields[i])) < 0)
            return NULL;
        if (fields[i].required && json_array_append_new(required, json_string(fields[i].name)) < 0)
            return NULL;
    }
    return json_pack("{s:s, s:b, s:O, s:O}", "type", "object", "additionalProperties", 0,
                     "required", required, "properties", properties);
}

static json_t *member_facts(const struct request_field *field)
{
    return json_pack("{s:s, s:s*, s:s*, s:s*}", "capability", capability_name(field->capability),
                     "hashed_as", field->hashed_as, "not_hashed", field->not_hashed, "audited",
                     field->audited);
}

json_t *input_members(void)
{
    size_t count;
    const struct request_field *fields = request_fields(&count);
    json_auto_t *members = json_object();
    for (size_t i = 0; i < count; i++)
        if (json_object_set_new(members, fields[i].name, member_facts(&fields[i])) < 0)
            return NULL;
    return TAKE_POINTER(members);
}

static json_t *member_of(json_t *schema, const char *name)
{
    return json_object_get(json_object_get(schema, "properties"), name);
}

bool input_schema_offer_languages(json_t *schema, json_t *names)
{
    static const char name[] = "language";
    const char *description = request_field_find(name, sizeof(name) - 1)->description;
    json_t *language = member_of(schema, name);
    return json_object_set(language, "enum", names) == 0 &&
           json_object_set_new(language, "description", language_description(description, names)) ==
               0;
}

bool input_schema_offer_limit(json_t *schema, const struct request_field *field, uint64_t least,
                              uint64_t most, uint64_t maximum)
{
    char usual[64];
    int length = snprintf(usual, sizeof(usual), "%llu", (unsigned long long)least);
    if (most > least)
        (void)snprintf(usual + length, sizeof(usual) - (size_t)length, " to %llu, by language,",
                       (unsigned long long)most);
    json_t *member = member_of(schema, field->name);
    json_t *text = json_sprintf("%s: %s where it is left out, at most %llu.", field->offer, usual,
                                (unsigned long long)maximum);
    return json_object_set_new(member, "description", text) == 0 &&
           json_object_set_new(member, "maximum", json_integer((json_int_t)maximum)) == 0;
}
