/* SPDX-License-Identifier: Apache-2.0 */
/* The check of arguments: see tool_schema.h. Runs in the gateway, on the thread inside
 * tool_invoke(), possibly with a small stack: it recurses as deeply as the schema is nested. */
#include "tools/tool_schema.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "tools/tool_keyword.h"
#include "json/json_number.h"
#include "json/json_place.h"
#include "json/json_text.h"

#define DEPTH_LIMIT  64  /* of schemas within schemas, and of values that are compared */
#define LISTED_BYTES 200 /* of the values or types that a message lists */

/* The way to a value, from the inside out: most values fit, and nobody asks for their places. */
struct link {
    const struct link *above; /* NULL: this is the whole */
    const char *name;         /* NULL: an item */
    size_t length;
    size_t index;
};

struct check {
    struct tool_schema_result *result;
    size_t steps;        /* that are left */
    size_t depth;        /* of the schema */
    size_t alternatives; /* that are open: nothing that does not fit in one is the last word */
    bool given_up;       /* the message says why */
};

struct subject {
    const struct link *link;
    json_t *schema;
    json_t *value;
};

static bool check_value(struct check *check, const struct link *link, json_t *schema,
                        json_t *value);

static bool give_up(struct check *check, const char *reason)
{
    if (!check->given_up)
        (void)snprintf(check->result->message, sizeof(check->result->message), "arguments: %s",
                       reason);
    check->given_up = true;
    return false;
}

static bool take_steps(struct check *check, size_t count)
{
    if (check->given_up)
        return false;
    if (check->steps < count)
        return give_up(check, "too large to be checked against the tool's schema");
    check->steps -= count;
    return true;
}

static struct json_place place_of(const struct link *link, struct error *error)
{
    if (!link->above)
        return json_place_root("arguments", ERROR_INVALID_INPUT, error);
    struct json_place above = place_of(link->above, error);
    return link->name ? json_place_member(&above, link->name, link->length)
                      : json_place_item(&above, link->index);
}

static bool is_quiet(const struct check *check)
{
    return check->given_up || check->alternatives > 0;
}

/* Texts of the schema are a stranger's. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < 0x20 || *text > 0x7E)
            *text = '?';
}

/* Returns false. */
static bool refuse(const struct check *check, const struct link *link, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool refuse(const struct check *check, const struct link *link, const char *format, ...)
{
    struct error error;
    char reason[320];
    va_list arguments;
    if (is_quiet(check))
        return false;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    make_printable(reason);
    struct json_place place = place_of(link, &error);
    json_place_refuse(&place, "%s", reason);
    (void)snprintf(check->result->message, sizeof(check->result->message), "%s", error.message);
    return false;
}

static bool equals(struct check *check, const json_t *left, const json_t *right, size_t depth);

static bool arrays_equal(struct check *check, const json_t *left, const json_t *right, size_t depth)
{
    size_t count = json_array_size(left);
    for (size_t i = 0; i < count && count == json_array_size(right); i++)
        if (!equals(check, json_array_get(left, i), json_array_get(right, i), depth))
            return false;
    return count == json_array_size(right);
}

static bool objects_equal(struct check *check, const json_t *left, const json_t *right,
                          size_t depth)
{
    json_t *object = (json_t *)(uintptr_t)left; /* the iterator does not change it */
    if (json_object_size(left) != json_object_size(right))
        return false;
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        const json_t *other = json_object_get(right, json_object_iter_key(at));
        if (!other || !equals(check, json_object_iter_value(at), other, depth))
            return false;
    }
    return true;
}

/* As JSON Schema has it: 1 is 1.0. */
static bool equals(struct check *check, const json_t *left, const json_t *right, size_t depth)
{
    if (!take_steps(check, 1))
        return false;
    if (depth == DEPTH_LIMIT)
        return give_up(check, "nested too deeply to be checked against the tool's schema");
    if (json_is_number(left) && json_is_number(right))
        return json_number_compare(left, right) == 0;
    if (json_typeof(left) != json_typeof(right))
        return false;
    if (json_is_object(left))
        return objects_equal(check, left, right, depth + 1);
    if (json_is_array(left))
        return arrays_equal(check, left, right, depth + 1);
    if (!json_is_string(left))
        return true;
    size_t length = json_string_length(left);
    return length == json_string_length(right) && take_steps(check, length / 64) &&
           memcmp(json_string_value(left), json_string_value(right), length) == 0;
}

static const char *type_of(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "object",   [JSON_ARRAY] = "array", [JSON_STRING] = "string",
        [JSON_INTEGER] = "integer", [JSON_REAL] = "number", [JSON_TRUE] = "boolean",
        [JSON_FALSE] = "boolean",   [JSON_NULL] = "null",
    };
    return names[json_typeof(value)];
}

static bool has_type(const json_t *value, const json_t *type)
{
    const char *name = json_string_value(type);
    if (name && strcmp(name, "number") == 0)
        return json_is_number(value);
    if (name && strcmp(name, "integer") == 0 && json_is_real(value))
        return json_number_is_whole(value);
    return name && strcmp(name, type_of(value)) == 0;
}

/* A type, or the types of a list, with commas. */
static void list_types(const json_t *types, char ret[LISTED_BYTES])
{
    ret[0] = '\0';
    if (json_is_string(types))
        text_add_name(ret, LISTED_BYTES, json_string_value(types));
    for (size_t i = 0; i < json_array_size(types); i++)
        text_add_name(ret, LISTED_BYTES, json_string_value(json_array_get(types, i)));
}

static bool check_type(struct check *check, const struct subject *subject, json_t *word)
{
    char types[LISTED_BYTES];
    bool fits = has_type(subject->value, word);
    for (size_t i = 0; !fits && i < json_array_size(word); i++)
        fits = has_type(subject->value, json_array_get(word, i));
    if (fits || is_quiet(check))
        return fits;
    list_types(word, types);
    return refuse(check, subject->link, "must be of type %s, is of type %s", types,
                  type_of(subject->value));
}

static bool check_properties(struct check *check, const struct subject *subject, json_t *word)
{
    for (void *at = json_object_iter(word); at; at = json_object_iter_next(word, at)) {
        const struct link link = {.above = subject->link,
                                  .name = json_object_iter_key(at),
                                  .length = json_object_iter_key_len(at)};
        json_t *value = json_object_get(subject->value, link.name);
        if (!take_steps(check, 1) ||
            (value && !check_value(check, &link, json_object_iter_value(at), value)))
            return false;
    }
    return true;
}

static bool check_required(struct check *check, const struct subject *subject, json_t *word)
{
    for (size_t i = 0; i < json_array_size(word); i++) {
        const json_t *name = json_array_get(word, i);
        const struct link link = {.above = subject->link,
                                  .name = json_string_value(name),
                                  .length = json_string_length(name)};
        if (!take_steps(check, 1))
            return false;
        if (!json_object_get(subject->value, link.name))
            return refuse(check, &link, "missing");
    }
    return true;
}

static bool check_additional(struct check *check, const struct subject *subject, json_t *word)
{
    const json_t *properties = json_object_get(subject->schema, "properties");
    json_t *object = subject->value;
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        const struct link link = {.above = subject->link,
                                  .name = json_object_iter_key(at),
                                  .length = json_object_iter_key_len(at)};
        if (!take_steps(check, 1))
            return false;
        if (json_object_get(properties, link.name))
            continue;
        if (json_is_false(word))
            return refuse(check, &link, "unknown member");
        if (!check_value(check, &link, word, json_object_iter_value(at)))
            return false;
    }
    return true;
}

static bool check_items(struct check *check, const struct subject *subject, json_t *word)
{
    for (size_t i = 0; i < json_array_size(subject->value); i++) {
        const struct link link = {.above = subject->link, .index = i};
        if (!take_steps(check, 1) ||
            !check_value(check, &link, word, json_array_get(subject->value, i)))
            return false;
    }
    return true;
}

/* As many of the values as there is room for. */
static void list_values(const json_t *values, char ret[LISTED_BYTES])
{
    ret[0] = '\0';
    for (size_t i = 0; i < json_array_size(values); i++) {
        CLEANUP_FREE char *text = json_text(json_array_get(values, i), JSON_ORDER_MADE_REAL);
        size_t before = strlen(ret);
        text_add_name(ret, LISTED_BYTES - 5, text ? text : "");
        if (strlen(ret) == before) {
            (void)snprintf(ret + before, LISTED_BYTES - before, "%s...", before > 0 ? ", " : "");
            return;
        }
    }
}

static bool check_enum(struct check *check, const struct subject *subject, json_t *word)
{
    char values[LISTED_BYTES];
    for (size_t i = 0; i < json_array_size(word); i++)
        if (equals(check, subject->value, json_array_get(word, i), 0))
            return true;
    if (is_quiet(check))
        return false;
    list_values(word, values);
    return refuse(check, subject->link, "must be one of %s", values);
}

static bool check_const(struct check *check, const struct subject *subject, json_t *word)
{
    if (equals(check, subject->value, word, 0))
        return true;
    CLEANUP_FREE char *text = is_quiet(check) ? NULL : json_text(word, JSON_ORDER_MADE_REAL);
    return refuse(check, subject->link, "must be %.200s", text ? text : "the schema's value");
}

/* sign: 1 of a minimum, -1 of a maximum. */
static bool check_bound(struct check *check, const struct subject *subject, const json_t *bound,
                        int sign, bool exclusive)
{
    if (!json_is_number(bound) || !json_is_number(subject->value))
        return true;
    int order = sign * json_number_compare(subject->value, bound);
    if (order > 0 || (order == 0 && !exclusive))
        return true;
    CLEANUP_FREE char *text = is_quiet(check) ? NULL : json_text(bound, JSON_ORDER_MADE_REAL);
    const char *words =
        sign > 0 ? (exclusive ? "more than" : "at least") : (exclusive ? "less than" : "at most");
    return refuse(check, subject->link, "must be %s %s", words, text ? text : "the bound");
}

static bool check_minimum(struct check *check, const struct subject *subject, json_t *word)
{
    return check_bound(check, subject, word, 1, false);
}

static bool check_maximum(struct check *check, const struct subject *subject, json_t *word)
{
    return check_bound(check, subject, word, -1, false);
}

/* true, as in draft 4: the bound is that of the keyword's other half. */
static bool check_exclusive_minimum(struct check *check, const struct subject *subject,
                                    json_t *word)
{
    const json_t *bound = json_is_true(word) ? json_object_get(subject->schema, "minimum") : word;
    return check_bound(check, subject, bound, 1, true);
}

static bool check_exclusive_maximum(struct check *check, const struct subject *subject,
                                    json_t *word)
{
    const json_t *bound = json_is_true(word) ? json_object_get(subject->schema, "maximum") : word;
    return check_bound(check, subject, bound, -1, true);
}

/* sign: 1 of the least, -1 of the most. */
static bool check_size(const struct check *check, const struct subject *subject, size_t size,
                       const json_t *word, int sign, const char *what)
{
    json_int_t bound = json_integer_value(word);
    json_int_t has = (json_int_t)size;
    if (sign > 0 ? has >= bound : has <= bound)
        return true;
    return refuse(check, subject->link, "must have at %s %lld %s, has %zu",
                  sign > 0 ? "least" : "most", (long long)bound, what, size);
}

/* Code points; jansson's strings are UTF-8. */
static bool check_length(struct check *check, const struct subject *subject, const json_t *word,
                         int sign)
{
    size_t count = 0;
    const char *text = json_string_value(subject->value);
    size_t length = json_string_length(subject->value);
    if (!take_steps(check, length / 64))
        return false;
    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return check_size(check, subject, count, word, sign, "characters");
}

static bool check_min_length(struct check *check, const struct subject *subject, json_t *word)
{
    return check_length(check, subject, word, 1);
}

static bool check_max_length(struct check *check, const struct subject *subject, json_t *word)
{
    return check_length(check, subject, word, -1);
}

static bool check_min_items(struct check *check, const struct subject *subject, json_t *word)
{
    return check_size(check, subject, json_array_size(subject->value), word, 1, "items");
}

static bool check_max_items(struct check *check, const struct subject *subject, json_t *word)
{
    return check_size(check, subject, json_array_size(subject->value), word, -1, "items");
}

/* How many of the schemas it fits, as far as enough of them. */
static size_t count_fitting(struct check *check, const struct subject *subject, const json_t *word,
                            size_t enough)
{
    size_t count = 0;
    if (check->alternatives == TOOL_SCHEMA_ALTERNATIVES) {
        give_up(check, "the tool's schema has too many alternatives in one another");
        return 0;
    }
    check->alternatives++;
    for (size_t i = 0; count < enough && i < json_array_size(word); i++)
        count += take_steps(check, 1) &&
                 check_value(check, subject->link, json_array_get(word, i), subject->value);
    check->alternatives--;
    return count;
}

static bool check_any_of(struct check *check, const struct subject *subject, json_t *word)
{
    return count_fitting(check, subject, word, 1) > 0 ||
           refuse(check, subject->link, "fits none of the %zu schemas of anyOf",
                  json_array_size(word));
}

/* Of schemas that are not fully checked, more may seem to fit than do. */
static bool check_one_of(struct check *check, const struct subject *subject, json_t *word)
{
    size_t count = count_fitting(check, subject, word, 2);
    if (count == 0)
        return refuse(check, subject->link, "fits none of the %zu schemas of oneOf",
                      json_array_size(word));
    return count == 1 || !check->result->fully_checked ||
           refuse(check, subject->link, "fits more than one of the schemas of oneOf");
}

#define ANY_KIND (-1)

static const struct {
    int kind; /* of the values that it is about; of number: JSON_REAL */
    bool (*check)(struct check *check, const struct subject *subject, json_t *word);
} checks[KEYWORD_COUNT] = {
    [KEYWORD_TYPE] = {ANY_KIND, check_type},
    [KEYWORD_PROPERTIES] = {JSON_OBJECT, check_properties},
    [KEYWORD_REQUIRED] = {JSON_OBJECT, check_required},
    [KEYWORD_ADDITIONAL_PROPERTIES] = {JSON_OBJECT, check_additional},
    [KEYWORD_ITEMS] = {JSON_ARRAY, check_items},
    [KEYWORD_ENUM] = {ANY_KIND, check_enum},
    [KEYWORD_CONST] = {ANY_KIND, check_const},
    [KEYWORD_MINIMUM] = {ANY_KIND, check_minimum},
    [KEYWORD_MAXIMUM] = {ANY_KIND, check_maximum},
    [KEYWORD_EXCLUSIVE_MINIMUM] = {ANY_KIND, check_exclusive_minimum},
    [KEYWORD_EXCLUSIVE_MAXIMUM] = {ANY_KIND, check_exclusive_maximum},
    [KEYWORD_MIN_LENGTH] = {JSON_STRING, check_min_length},
    [KEYWORD_MAX_LENGTH] = {JSON_STRING, check_max_length},
    [KEYWORD_MIN_ITEMS] = {JSON_ARRAY, check_min_items},
    [KEYWORD_MAX_ITEMS] = {JSON_ARRAY, check_max_items},
    [KEYWORD_ANY_OF] = {ANY_KIND, check_any_of},
    [KEYWORD_ONE_OF] = {ANY_KIND, check_one_of},
};

static bool check_keywords(struct check *check, const struct subject *subject)
{
    json_t *schema = subject->schema;
    for (void *at = json_object_iter(schema); at; at = json_object_iter_next(schema, at)) {
        json_t *word = json_object_iter_value(at);
        if (!take_steps(check, 1 + json_array_size(word) + json_object_size(word)))
            return false;
        enum tool_keyword keyword = tool_keyword_in(schema, json_object_iter_key(at), word);
        if (keyword == KEYWORD_COUNT || !checks[keyword].check)
            continue;
        if (checks[keyword].kind != ANY_KIND &&
            checks[keyword].kind != (int)json_typeof(subject->value))
            continue;
        if (!checks[keyword].check(check, subject, word))
            return false;
    }
    return true;
}

static bool check_value(struct check *check, const struct link *link, json_t *schema, json_t *value)
{
    const struct subject subject = {link, schema, value};
    if (json_is_false(schema))
        return refuse(check, link, "must not be there");
    if (check->depth == DEPTH_LIMIT)
        return give_up(check, "nested too deeply to be checked against the tool's schema");
    check->depth++;
    bool fits = check_keywords(check, &subject);
    check->depth--;
    return fits;
}

static bool all_is_checked(json_t *schema, char ret_unchecked[TOOL_SCHEMA_PLACE_SIZE])
{
    struct json_place root = json_place_root("schema", ERROR_INVALID_INPUT, NULL);
    struct json_place unchecked = root;
    bool is_checked = tool_keywords_are_checked(&root, schema, &unchecked);
    memcpy(ret_unchecked, unchecked.pointer, TOOL_SCHEMA_PLACE_SIZE);
    return is_checked;
}

void tool_schema_check(json_t *schema, json_t *arguments, struct tool_schema_result *ret)
{
    static const struct link whole = {.above = NULL};
    struct check check = {.result = ret, .steps = TOOL_SCHEMA_STEPS};
    *ret = (struct tool_schema_result){.fits = false};
    ret->fully_checked = all_is_checked(schema, ret->unchecked);
    ret->fits = check_value(&check, &whole, schema, arguments) && !check.given_up;
}

json_t *tool_arguments_read(const char *bytes, size_t length, size_t limit, struct error *error)
{
    const struct json_input_limits limits = {.max_bytes = limit,
                                             .max_depth = TOOL_ARGUMENTS_DEPTH_LIMIT};
    return json_input_parse("arguments", bytes, length, &limits, ERROR_INVALID_INPUT, error);
}
