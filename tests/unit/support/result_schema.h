/* SPDX-License-Identifier: Apache-2.0 */
/* Holds a result against the output schema that the manifest publishes. Main thread of a test. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "result/result_member.h"

/* What is wrong, and where. */
struct result_fault {
    char text[256];
};

static inline bool result_fits_schema(json_t *schema, json_t *value, const char *place,
                                      struct result_fault *ret_fault);

static inline bool result_refuse(struct result_fault *ret_fault, const char *place,
                                 const char *message)
{
    (void)snprintf(ret_fault->text, sizeof(ret_fault->text), "result: %s: %s", place, message);
    return false;
}

static inline const char *result_type_of(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "object",   [JSON_ARRAY] = "array", [JSON_STRING] = "string",
        [JSON_INTEGER] = "integer", [JSON_REAL] = "number", [JSON_TRUE] = "boolean",
        [JSON_FALSE] = "boolean",   [JSON_NULL] = "null",
    };
    return value ? names[json_typeof(value)] : "nothing";
}

static inline bool result_is_among(json_t *allowed, json_t *value)
{
    size_t i;
    json_t *one;
    json_array_foreach(allowed, i, one)
    {
        if (json_equal(one, value))
            return true;
    }
    return json_is_string(allowed) && json_equal(allowed, value);
}

static inline bool result_members_fit(json_t *schema, json_t *value, const char *place,
                                      struct result_fault *ret_fault)
{
    json_t *others = json_object_get(schema, "additionalProperties");
    size_t i;
    json_t *one;
    const char *name;
    char inner[128];
    json_array_foreach(json_object_get(schema, "required"), i, one)
    {
        (void)snprintf(inner, sizeof(inner), "%s/%s", place, json_string_value(one));
        if (json_is_object(value) && !json_object_get(value, json_string_value(one)))
            return result_refuse(ret_fault, inner, "missing");
    }
    json_object_foreach(value, name, one)
    {
        json_t *member = json_object_get(json_object_get(schema, "properties"), name);
        (void)snprintf(inner, sizeof(inner), "%s/%s", place, name);
        if (!member && json_is_false(others))
            return result_refuse(ret_fault, inner, "unknown member");
        if (!result_fits_schema(member ? member : others, one, inner, ret_fault))
            return false;
    }
    json_array_foreach(value, i, one)
    {
        (void)snprintf(inner, sizeof(inner), "%s/%zu", place, i);
        if (!result_fits_schema(json_object_get(schema, "items"), one, inner, ret_fault))
            return false;
    }
    return true;
}

/* Knows the keywords that the output schema has; another one is a fault. */
static inline bool result_fits_schema(json_t *schema, json_t *value, const char *place,
                                      struct result_fault *ret_fault)
{
    static const char known[] =
        " type enum required properties additionalProperties items description ";
    json_t *details;
    const char *keyword;
    json_object_foreach(schema, keyword, details)
    {
        const char *found = strstr(known, keyword);
        if (!found || found[-1] != ' ' || found[strlen(keyword)] != ' ')
            return result_refuse(ret_fault, keyword, "a keyword that the test does not know");
    }
    json_auto_t *type = json_string(result_type_of(value));
    json_t *types = json_object_get(schema, "type");
    json_t *values = json_object_get(schema, "enum");
    if (types && !result_is_among(types, type))
        return result_refuse(ret_fault, place, "of another type");
    if (values && !result_is_among(values, value))
        return result_refuse(ret_fault, place, "not in the closed set");
    return result_members_fit(schema, value, place, ret_fault);
}

static inline bool result_fits(json_t *result, struct result_fault *ret_fault)
{
    json_auto_t *schema = result_schema();
    if (!schema || !result)
        return result_refuse(ret_fault, "/", schema ? "no JSON" : "out of memory");
    return result_fits_schema(schema, result, "", ret_fault);
}
