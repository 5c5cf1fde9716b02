/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keywords. Pure code, any thread. */
#include "formats/schema_subset.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

#define OPENAI    (1u << SCHEMA_SUBSET_OPENAI)
#define ANTHROPIC (1u << SCHEMA_SUBSET_ANTHROPIC)
#define GEMINI    (1u << SCHEMA_SUBSET_GEMINI)
#define NOBODY    0u

/* How a limit is written for a model that reads it in the description instead. */
static const struct {
    const char *name;
    unsigned takers;
    const char *before, *after; /* before NULL: a provider that does not take it loses nothing */
} keywords[] = {
    {"title", OPENAI | ANTHROPIC, NULL, NULL},
    {"const", OPENAI | ANTHROPIC, "always ", ""},
    {"default", OPENAI | ANTHROPIC, "default ", ""},
    {"examples", ANTHROPIC, "such as ", ""},
    {"format", OPENAI | ANTHROPIC, "format ", ""},
    {"pattern", OPENAI | ANTHROPIC, "matching ", ""},
    {"minimum", OPENAI | ANTHROPIC | GEMINI, "at least ", ""},
    {"maximum", OPENAI | ANTHROPIC | GEMINI, "at most ", ""},
    {"exclusiveMinimum", OPENAI | ANTHROPIC, "more than ", ""},
    {"exclusiveMaximum", OPENAI | ANTHROPIC, "less than ", ""},
    {"multipleOf", OPENAI | ANTHROPIC, "a multiple of ", ""},
    {"minLength", OPENAI | ANTHROPIC, "at least ", " characters"},
    {"maxLength", OPENAI | ANTHROPIC, "at most ", " characters"},
    {"minItems", OPENAI | ANTHROPIC | GEMINI, "at least ", " items"},
    {"maxItems", OPENAI | ANTHROPIC | GEMINI, "at most ", " items"},
    {"uniqueItems", OPENAI | ANTHROPIC, "items differ: ", ""},
    {"minProperties", OPENAI | ANTHROPIC, "at least ", " members"},
    {"maxProperties", OPENAI | ANTHROPIC, "at most ", " members"},
    {"contentEncoding", NOBODY, "encoded as ", ""},
    {"contentMediaType", NOBODY, "media type ", ""},
};

const char *schema_keyword_foreign(const json_t *schema)
{
    static const char *const foreign[] = {
        "$ref",
        "$dynamicRef",
        "allOf",
        "not",
        "if",
        "then",
        "else",
        "dependentSchemas",
        "dependencies",
        "dependentRequired",
        "prefixItems",
        "contains",
        "oneOf",
        "patternProperties",
        "propertyNames",
        "unevaluatedProperties",
        "$defs",
        "definitions",
        "$recursiveRef",
        "unevaluatedItems",
    };
    for (size_t i = 0; i < COUNT_OF(foreign); i++) {
        if (json_object_get(schema, foreign[i]))
            return foreign[i];
    }
    return NULL;
}

bool schema_has_type(const json_t *schema, const char *name)
{
    const json_t *type = json_object_get(schema, "type");
    return json_is_string(type) ? strcmp(json_string_value(type), name) == 0
                                : json_list_has(type, name);
}

/* "; at least 1" behind what is there. */
static bool say(FILE *out, bool first, const char *before, const char *after, const json_t *value)
{
    CLEANUP_FREE char *text = json_text(value, JSON_COMPACT | JSON_ENCODE_ANY);
    return text && fprintf(out, "%s%s%s%s", first ? "" : "; ", before, text, after) >= 0;
}

static bool say_all(FILE *out, const json_t *schema, unsigned subset_bit)
{
    bool first = true;
    for (size_t i = 0; i < COUNT_OF(keywords); i++) {
        const json_t *value = json_object_get(schema, keywords[i].name);
        if (!value || (keywords[i].takers & subset_bit) || !keywords[i].before)
            continue;
        if (!say(out, first, keywords[i].before, keywords[i].after, value))
            return false;
        first = false;
    }
    return true;
}

static bool describe(const json_t *schema, unsigned subset_bit, json_t *result)
{
    CLEANUP_FREE char *limits = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&limits, &length);
    bool said = out && say_all(out, schema, subset_bit);
    if (!out || fclose(out) != 0 || !said)
        return false;
    const char *own = json_member_string(schema, "description", "");
    if (!*own && length == 0)
        return true;
    json_t *text =
        length == 0 ? json_string(own) : json_sprintf("%s%s(%s)", own, *own ? " " : "", limits);
    return json_object_set_new(result, "description", text) == 0;
}

bool schema_keywords_copy(const json_t *schema, enum schema_subset subset, json_t *result)
{
    for (size_t i = 0; i < COUNT_OF(keywords); i++) {
        json_t *value = json_object_get(schema, keywords[i].name);
        if (value && (keywords[i].takers & (1u << subset)) &&
            json_object_set(result, keywords[i].name, value) != 0)
            return false;
    }
    return describe(schema, 1u << subset, result);
}
