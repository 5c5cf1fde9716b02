/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of keywords: see tool_keyword.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "tools/tool_keyword.h"

#include <string.h>

#include "base/cleanup.h"

static const struct {
    const char *name;
    enum keyword_form form;
} keywords[KEYWORD_COUNT] = {
#define X(constant, name, form) [KEYWORD_##constant] = {name, FORM_##form},
    TOOL_KEYWORDS(X)
#undef X
};

static bool is_type_name(const json_t *value)
{
    static const char *const names[] = {"object",  "array",   "string", "number",
                                        "integer", "boolean", "null"};
    for (size_t i = 0; json_is_string(value) && i < COUNT_OF(names); i++)
        if (strcmp(names[i], json_string_value(value)) == 0)
            return true;
    return false;
}

static bool is_string(const json_t *value)
{
    return json_is_string(value);
}

static bool is_schema(const json_t *value)
{
    return json_is_object(value) || json_is_boolean(value);
}

static bool is_list_of(const json_t *list, bool (*is_one)(const json_t *))
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!is_one(json_array_get(list, i)))
            return false;
    return json_is_array(list);
}

static bool is_map(const json_t *value)
{
    json_t *map = (json_t *)(uintptr_t)value; /* the iterator does not change it */
    for (void *at = json_object_iter(map); at; at = json_object_iter_next(map, at))
        if (!is_schema(json_object_iter_value(at)))
            return false;
    return json_is_object(value);
}

static bool has_form(const json_t *word, enum keyword_form form)
{
    switch (form) {
    case FORM_NOTE:
    case FORM_ANY:
        return true;
    case FORM_TYPE:
        return is_type_name(word) || (json_array_size(word) > 0 && is_list_of(word, is_type_name));
    case FORM_NUMBER:
        return json_is_number(word);
    case FORM_BOUND:
        return json_is_number(word) || json_is_boolean(word);
    case FORM_COUNT:
        return json_is_integer(word) && json_integer_value(word) >= 0;
    case FORM_NAMES:
        return is_list_of(word, is_string);
    case FORM_LIST:
        return json_is_array(word);
    case FORM_SCHEMA:
        return is_schema(word);
    case FORM_SCHEMAS:
        return json_array_size(word) > 0 && is_list_of(word, is_schema);
    case FORM_MAP:
        return is_map(word);
    }
    return false;
}

/* In drafts 4 to 7 nothing beside $ref counts; the others say for what members and items the
 * keyword is. */
static bool is_changed(const json_t *schema, enum tool_keyword keyword)
{
    return json_object_get(schema, "$ref") ||
           (keyword == KEYWORD_ADDITIONAL_PROPERTIES &&
            json_object_get(schema, "patternProperties")) ||
           (keyword == KEYWORD_ITEMS && json_object_get(schema, "prefixItems"));
}

enum tool_keyword tool_keyword_in(const json_t *schema, const char *name, const json_t *word)
{
    for (size_t i = 0; i < KEYWORD_COUNT; i++) {
        enum tool_keyword keyword = (enum tool_keyword)i;
        if (strcmp(keywords[i].name, name) != 0)
            continue;
        if (keywords[i].form == FORM_NOTE)
            return keyword;
        return has_form(word, keywords[i].form) && !is_changed(schema, keyword) ? keyword
                                                                                : KEYWORD_COUNT;
    }
    return KEYWORD_COUNT;
}

static bool items_are_checked(const struct json_place *place, const json_t *list,
                              struct json_place *ret_unchecked)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct json_place item = json_place_item(place, i);
        if (!tool_keywords_are_checked(&item, json_array_get(list, i), ret_unchecked))
            return false;
    }
    return true;
}

static bool values_are_checked(const struct json_place *place, json_t *map,
                               struct json_place *ret_unchecked)
{
    for (void *at = json_object_iter(map); at; at = json_object_iter_next(map, at)) {
        struct json_place inner =
            json_place_member(place, json_object_iter_key(at), json_object_iter_key_len(at));
        if (!tool_keywords_are_checked(&inner, json_object_iter_value(at), ret_unchecked))
            return false;
    }
    return true;
}

static bool word_is_checked(const struct json_place *place, json_t *word, enum keyword_form form,
                            struct json_place *ret_unchecked)
{
    if (form == FORM_SCHEMA)
        return tool_keywords_are_checked(place, word, ret_unchecked);
    if (form == FORM_SCHEMAS)
        return items_are_checked(place, word, ret_unchecked);
    return form != FORM_MAP || values_are_checked(place, word, ret_unchecked);
}

bool tool_keywords_are_checked(const struct json_place *place, json_t *schema,
                               struct json_place *ret_unchecked)
{
    for (void *at = json_object_iter(schema); at; at = json_object_iter_next(schema, at)) {
        const char *name = json_object_iter_key(at);
        json_t *word = json_object_iter_value(at);
        struct json_place inner = json_place_member(place, name, json_object_iter_key_len(at));
        enum tool_keyword keyword = tool_keyword_in(schema, name, word);
        if (keyword == KEYWORD_COUNT) {
            *ret_unchecked = inner;
            return false;
        }
        if (!word_is_checked(&inner, word, keywords[keyword].form, ret_unchecked))
            return false;
    }
    return true;
}
