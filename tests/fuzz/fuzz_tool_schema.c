/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call's arguments against a schema. Of schemas that are fully checked the verdict is that of a
 * plain reader; of others it is never stricter than the tool. The first line is the schema.
 */
#include <jansson.h>

#include "base/cleanup.h"
#include "fuzz.h"
#include "tools/tool_schema.h"

#define LIMIT 20000

static long double number_of(const json_t *value)
{
    return json_is_integer(value) ? (long double)json_integer_value(value)
                                  : (long double)json_real_value(value);
}

static bool alike(json_t *left, json_t *right)
{
    size_t i;
    const char *name;
    json_t *member;
    if (json_is_number(left) && json_is_number(right))
        return number_of(left) == number_of(right);
    if (!left || !right || json_typeof(left) != json_typeof(right))
        return false;
    if (json_array_size(left) != json_array_size(right) ||
        json_object_size(left) != json_object_size(right))
        return false;
    json_array_foreach(left, i, member)
    {
        if (!alike(member, json_array_get(right, i)))
            return false;
    }
    json_object_foreach(left, name, member)
    {
        if (!alike(member, json_object_get(right, name)))
            return false;
    }
    return !json_is_string(left) || json_equal(left, right);
}

static bool is_whole(const json_t *value)
{
    char digits[512];
    (void)snprintf(digits, sizeof(digits), "%.0f", json_real_value(value));
    return json_is_integer(value) ||
           (json_is_real(value) && strtod(digits, NULL) == json_real_value(value));
}

static bool is_of(const json_t *value, const char *type)
{
    switch (type[0]) {
    case 'o':
        return json_is_object(value);
    case 'a':
        return json_is_array(value);
    case 's':
        return json_is_string(value);
    case 'b':
        return json_is_boolean(value);
    case 'i':
        return is_whole(value);
    default:
        return strcmp(type, "null") == 0 ? json_is_null(value) : json_is_number(value);
    }
}

static bool is_of_one(const json_t *value, const json_t *types)
{
    bool found = json_is_string(types) && is_of(value, json_string_value(types));
    for (size_t i = 0; i < json_array_size(types); i++)
        found = found || is_of(value, json_string_value(json_array_get(types, i)));
    return found;
}

static bool is_among(json_t *value, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (alike(value, json_array_get(list, i)))
            return true;
    return false;
}

static json_int_t characters(const json_t *value)
{
    json_int_t count = 0;
    for (size_t i = 0; i < json_string_length(value); i++)
        count += (json_string_value(value)[i] & 0xC0) != 0x80;
    return count;
}

static bool number_fits(const json_t *schema, const json_t *value)
{
    const json_t *minimum = json_object_get(schema, "minimum");
    const json_t *maximum = json_object_get(schema, "maximum");
    const json_t *above = json_object_get(schema, "exclusiveMinimum");
    const json_t *below = json_object_get(schema, "exclusiveMaximum");
    long double number = number_of(value);
    above = json_is_true(above) ? minimum : above;
    below = json_is_true(below) ? maximum : below;
    return (!json_is_number(minimum) || number >= number_of(minimum)) &&
           (!json_is_number(maximum) || number <= number_of(maximum)) &&
           (!json_is_number(above) || number > number_of(above)) &&
           (!json_is_number(below) || number < number_of(below));
}

static bool size_fits(const json_t *schema, json_int_t size, const char *least, const char *most)
{
    const json_t *minimum = json_object_get(schema, least);
    const json_t *maximum = json_object_get(schema, most);
    return (!minimum || size >= json_integer_value(minimum)) &&
           (!maximum || size <= json_integer_value(maximum));
}

static bool fits(json_t *schema, json_t *value);

static bool object_fits(json_t *schema, json_t *value)
{
    const char *name;
    json_t *member;
    const json_t *properties = json_object_get(schema, "properties");
    json_t *others = json_object_get(schema, "additionalProperties");
    const json_t *required = json_object_get(schema, "required");
    json_object_foreach(value, name, member)
    {
        json_t *own = json_object_get(properties, name);
        if (own ? !fits(own, member) : others && !fits(others, member))
            return false;
    }
    for (size_t i = 0; i < json_array_size(required); i++)
        if (!json_object_get(value, json_string_value(json_array_get(required, i))))
            return false;
    return true;
}

static bool items_fit(json_t *schema, json_t *value)
{
    json_t *items = json_object_get(schema, "items");
    for (size_t i = 0; items && i < json_array_size(value); i++)
        if (!fits(items, json_array_get(value, i)))
            return false;
    return true;
}

static size_t fitting(const json_t *list, json_t *value)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        count += fits(json_array_get(list, i), value);
    return count;
}

static bool fits(json_t *schema, json_t *value)
{
    const json_t *type = json_object_get(schema, "type");
    const json_t *list = json_object_get(schema, "enum");
    json_t *constant = json_object_get(schema, "const");
    const json_t *any = json_object_get(schema, "anyOf");
    const json_t *one = json_object_get(schema, "oneOf");
    if (json_is_boolean(schema))
        return json_is_true(schema);
    return (!type || is_of_one(value, type)) && (!list || is_among(value, list)) &&
           (!constant || alike(value, constant)) && (!any || fitting(any, value) > 0) &&
           (!one || fitting(one, value) == 1) &&
           (!json_is_number(value) || number_fits(schema, value)) &&
           (!json_is_string(value) ||
            size_fits(schema, characters(value), "minLength", "maxLength")) &&
           (!json_is_array(value) ||
            size_fits(schema, (json_int_t)json_array_size(value), "minItems", "maxItems")) &&
           object_fits(schema, value) && items_fit(schema, value);
}

static bool has_given_up(const struct tool_schema_result *result)
{
    return strstr(result->message, " the tool's schema") || strstr(result->message, "alternatives");
}

static void must_be_printable(const char *text)
{
    for (; *text != '\0'; text++)
        MUST(*text >= 0x20 && *text <= 0x7E);
}

static void try_schema(json_t *schema, json_t *arguments)
{
    struct tool_schema_result result;
    tool_schema_check(schema, arguments, &result);
    must_be_printable(result.message);
    must_be_printable(result.unchecked);
    MUST(result.fits == (result.message[0] == '\0'));
    MUST(result.fully_checked == (result.unchecked[0] == '\0'));
    if (result.fully_checked && !has_given_up(&result))
        MUST(result.fits == fits(schema, arguments));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_split(data, size);
    const struct json_input_limits limits = {.max_bytes = LIMIT, .max_depth = 32};
    struct error error;
    CLEANUP_FREE uint8_t *schema_text = fuzz_exact(input.cuts, input.cut_count);
    CLEANUP_FREE uint8_t *arguments_text = fuzz_exact(input.bytes, input.length);
    json_auto_t *schema = json_input_parse("schema", (const char *)schema_text, input.cut_count,
                                           &limits, ERROR_INVALID_INPUT, &error);
    json_auto_t *arguments =
        tool_arguments_read((const char *)arguments_text, input.length, LIMIT, &error);
    if (schema && arguments)
        try_schema(schema, arguments);
    return 0;
}
