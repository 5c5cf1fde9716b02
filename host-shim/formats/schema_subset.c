/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a schema and writes it anew. Pure code, any thread. */
#include "formats/schema_subset.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"

/* OpenAI's limit in strict mode; real schemas are not deeper. */
#define DEEPEST          10u
#define LONGEST_POINTER  512u
#define LONGEST_PROPERTY 64u

struct rewriting {
    enum schema_subset subset;
    json_t *left_out;
    unsigned depth;
    char place[LONGEST_POINTER]; /* where the walk is */
    char why[1024];              /* why the last schema could not be expressed */
    bool out_of_memory;
};

static json_t *cannot(struct rewriting *rewriting, const char *why, const char *detail)
{
    (void)snprintf(rewriting->why, sizeof(rewriting->why), "%s: %s%s",
                   *rewriting->place ? rewriting->place : "the schema", why, detail);
    return NULL;
}

static json_t *out_of_memory(struct rewriting *rewriting)
{
    rewriting->out_of_memory = true;
    return NULL;
}

static bool set(struct rewriting *rewriting, json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) == 0)
        return true;
    rewriting->out_of_memory = true;
    return false;
}

static bool is_gemini(const struct rewriting *rewriting)
{
    return rewriting->subset == SCHEMA_SUBSET_GEMINI;
}

static bool is_strict(const struct rewriting *rewriting)
{
    return rewriting->subset == SCHEMA_SUBSET_OPENAI_STRICT;
}

/* Those two want every type said, and know no objects but those with named members. */
static bool is_typed(const struct rewriting *rewriting)
{
    return is_strict(rewriting) || is_gemini(rewriting);
}

static json_t *rewrite(struct rewriting *rewriting, const json_t *schema);

/* rewrite() one level further down. */
static json_t *rewrite_below(struct rewriting *rewriting, const char *step, const json_t *schema)
{
    size_t length = strlen(rewriting->place);
    (void)snprintf(rewriting->place + length, sizeof(rewriting->place) - length, "%s%s",
                   *step ? "/" : "", step);
    rewriting->depth++;
    json_t *result = rewriting->depth > DEEPEST
                         ? cannot(rewriting, "more levels than model providers accept", "")
                         : rewrite(rewriting, schema);
    rewriting->depth--;
    rewriting->place[length] = '\0';
    return result;
}

/* The only type beside null; NULL where there are several or none. */
static const char *only_type(const json_t *type)
{
    const char *only = json_string_value(type);
    size_t index = 0;
    const json_t *item = NULL;
    json_array_foreach(type, index, item)
    {
        const char *name = json_string_value(item);
        if (!name || strcmp(name, "null") == 0)
            continue;
        if (only)
            return NULL;
        only = name;
    }
    return only;
}

static json_t *add_type(struct rewriting *rewriting, const json_t *schema, json_t *result)
{
    json_t *type = json_object_get(schema, "type");
    if (!type) {
        if (is_typed(rewriting) && !json_object_get(schema, "anyOf"))
            return cannot(rewriting, "no type", "");
        return result;
    }
    if (!is_gemini(rewriting))
        return set(rewriting, result, "type", json_deep_copy(type)) ? result : NULL;
    const char *only = only_type(type);
    if (!only || strcmp(only, "null") == 0)
        return cannot(rewriting, "several types", "");
    if (!set(rewriting, result, "type", json_string(only)))
        return NULL;
    if (schema_has_type(schema, "null") && !set(rewriting, result, "nullable", json_true()))
        return NULL;
    return result;
}

/* Gemini has enumerations of strings only, and says null elsewhere. */
static json_t *strings_of(const json_t *values)
{
    json_auto_t *strings = json_array();
    size_t index = 0;
    json_t *value = NULL;
    json_array_foreach(values, index, value)
    {
        if (json_is_string(value) && json_array_append(strings, value) != 0)
            return NULL;
    }
    return TAKE_POINTER(strings);
}

static json_t *add_enum(struct rewriting *rewriting, const json_t *schema, json_t *result)
{
    json_t *values = json_object_get(schema, "enum");
    if (!json_is_array(values))
        return result;
    if (!is_gemini(rewriting))
        return set(rewriting, result, "enum", json_deep_copy(values)) ? result : NULL;
    if (!schema_has_type(schema, "string"))
        return cannot(rewriting, "an enumeration with values that are not strings", "");
    return set(rewriting, result, "enum", strings_of(values)) ? result : NULL;
}

static json_t *add_items(struct rewriting *rewriting, const json_t *schema, json_t *result)
{
    const json_t *items = json_object_get(schema, "items");
    if (!schema_has_type(schema, "array"))
        return result;
    if (!json_is_object(items) && is_typed(rewriting))
        return cannot(rewriting, "an array without a schema for its items", "");
    /* OpenAI refuses an array that says nothing of its items. */
    json_t *rewritten =
        json_is_object(items) ? rewrite_below(rewriting, "*", items) : json_object();
    if (!rewritten)
        return NULL;
    return set(rewriting, result, "items", rewritten) ? result : NULL;
}

static json_t *add_alternatives(struct rewriting *rewriting, const json_t *schema, json_t *result)
{
    const json_t *alternatives = json_object_get(schema, "anyOf");
    if (!alternatives)
        return result;
    json_auto_t *rewritten = json_array();
    size_t index = 0;
    const json_t *alternative = NULL;
    json_array_foreach(alternatives, index, alternative)
    {
        json_t *item = rewrite_below(rewriting, "", alternative);
        if (!item)
            return NULL;
        if (json_array_append_new(rewritten, item) != 0)
            return out_of_memory(rewriting);
    }
    return set(rewriting, result, "anyOf", TAKE_POINTER(rewritten)) ? result : NULL;
}

/* Strict mode has no optional members: null stands for absent. */
static bool make_nullable(struct rewriting *rewriting, json_t *schema)
{
    json_t *type = json_object_get(schema, "type");
    json_t *values = json_object_get(schema, "enum");
    json_t *alternatives = json_object_get(schema, "anyOf");
    if (json_is_string(type) && !set(rewriting, schema, "type", json_pack("[O, s]", type, "null")))
        return false;
    bool added = true;
    if (json_is_array(type) && !schema_has_type(schema, "null"))
        added = json_array_append_new(type, json_string("null")) == 0;
    if (added && alternatives)
        added = json_array_append_new(alternatives, json_pack("{s:s}", "type", "null")) == 0;
    bool has_null = false;
    size_t index = 0;
    const json_t *value = NULL;
    json_array_foreach(values, index, value) has_null = has_null || json_is_null(value);
    if (added && values && !has_null)
        added = json_array_append_new(values, json_null()) == 0;
    rewriting->out_of_memory = rewriting->out_of_memory || !added;
    return added;
}

static bool is_property_name(const struct rewriting *rewriting, const char *name)
{
    return rewriting->subset != SCHEMA_SUBSET_ANTHROPIC ||
           ascii_consists_of(name, LONGEST_PROPERTY, ASCII_ALPHANUMERIC "_.-");
}

static json_t *rewrite_property(struct rewriting *rewriting, const char *name, const json_t *schema,
                                bool required)
{
    if (!is_property_name(rewriting, name))
        return cannot(rewriting, "a member name that is not accepted: ", name);
    json_auto_t *property = rewrite_below(rewriting, name, schema);
    if (property && is_strict(rewriting) && !required && !make_nullable(rewriting, property))
        return NULL;
    return TAKE_POINTER(property);
}

static bool leave_out(struct rewriting *rewriting, const char *name)
{
    if (rewriting->out_of_memory)
        return false;
    json_t *pointer = json_sprintf("%s/%s", rewriting->place, name);
    rewriting->out_of_memory = json_array_append_new(rewriting->left_out, pointer) != 0;
    return !rewriting->out_of_memory;
}

static bool add_property(struct rewriting *rewriting, const json_t *schema, const char *name,
                         const json_t *property, json_t *properties, json_t *required)
{
    bool needed = json_list_has(json_object_get(schema, "required"), name);
    json_t *rewritten = rewrite_property(rewriting, name, property, needed);
    if (!rewritten)
        return !needed && leave_out(rewriting, name);
    if (!set(rewriting, properties, name, rewritten))
        return false;
    if ((needed || is_strict(rewriting)) && json_array_append_new(required, json_string(name)) != 0)
        return out_of_memory(rewriting) != NULL;
    return true;
}

/* Maps: members of any name. */
static json_t *add_other_members(struct rewriting *rewriting, const json_t *schema, json_t *result)
{
    json_t *others = json_object_get(schema, "additionalProperties");
    if (is_gemini(rewriting) || (!others && !is_strict(rewriting)))
        return result;
    json_t *rewritten = is_strict(rewriting)      ? json_false()
                        : json_is_boolean(others) ? json_incref(others)
                                                  : rewrite_below(rewriting, "*", others);
    if (!rewritten)
        return NULL;
    return set(rewriting, result, "additionalProperties", rewritten) ? result : NULL;
}

static json_t *add_members(struct rewriting *rewriting, const json_t *schema, json_t *result)
{
    const json_t *own = json_object_get(schema, "properties");
    if (!schema_has_type(schema, "object"))
        return result;
    bool closed = json_is_false(json_object_get(schema, "additionalProperties"));
    if (is_typed(rewriting) && rewriting->depth > 0 && json_object_size(own) == 0 &&
        (is_gemini(rewriting) || !closed))
        return cannot(rewriting, "an object without named members", "");
    json_auto_t *properties = json_object();
    json_auto_t *required = json_array();
    const char *name = NULL;
    const json_t *property = NULL;
    json_object_foreach((json_t *)(uintptr_t)own, name, property)
    {
        if (!add_property(rewriting, schema, name, property, properties, required))
            return NULL;
    }
    /* A map says nothing of named members. */
    if ((own || is_typed(rewriting) || rewriting->depth == 0) &&
        !set(rewriting, result, "properties", TAKE_POINTER(properties)))
        return NULL;
    if ((is_strict(rewriting) || json_array_size(required) > 0) &&
        !set(rewriting, result, "required", TAKE_POINTER(required)))
        return NULL;
    return add_other_members(rewriting, schema, result);
}

static json_t *rewrite(struct rewriting *rewriting, const json_t *schema)
{
    if (!json_is_object(schema))
        return cannot(rewriting, "no schema object", "");
    const char *foreign = schema_keyword_foreign(schema);
    if (foreign)
        return cannot(rewriting, "a schema with ", foreign);
    json_auto_t *result = json_object();
    if (!result || !schema_keywords_copy(schema, rewriting->subset, result))
        return out_of_memory(rewriting);
    if (!add_type(rewriting, schema, result) || !add_enum(rewriting, schema, result) ||
        !add_items(rewriting, schema, result) || !add_alternatives(rewriting, schema, result) ||
        !add_members(rewriting, schema, result))
        return NULL;
    return TAKE_POINTER(result);
}

json_t *schema_subset_make(const json_t *schema, enum schema_subset subset, json_t *left_out,
                           struct failure *failure)
{
    struct rewriting rewriting = {.subset = subset, .left_out = left_out};
    const json_t *type = json_object_get(schema, "type");
    json_t *result = NULL;
    if (!json_is_string(type) || strcmp(json_string_value(type), "object") != 0)
        (void)cannot(&rewriting, "not of type object", "");
    else if (json_object_get(schema, "anyOf") || json_object_get(schema, "enum"))
        (void)cannot(&rewriting, "alternatives at the top level, which no model provider accepts",
                     "");
    else
        result = rewrite(&rewriting, schema);
    if (rewriting.out_of_memory)
        (void)failure_out_of_memory(failure);
    else if (!result)
        (void)failure_set(failure, "schema_unsupported", "%s", rewriting.why);
    return result;
}
