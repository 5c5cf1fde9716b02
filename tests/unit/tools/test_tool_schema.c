/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments against schemas: what fits, what does not and where, what is not checked and said to be
 * so, and schemas and arguments that would take too long.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "tap_suite.h"
#include "tools/tool_schema.h"
#include "json/json_number.h"

#define FITS      ""
#define OF(words) "{\"properties\": {\"a\": {" words "}}}"

static const struct {
    const char *schema;
    const char *arguments;
    const char *message; /* FITS */
} rows[] = {
    {"{}", "{\"a\": 1}", FITS},
    {OF("\"type\": \"string\""), "{}", FITS},
    {OF("\"type\": \"string\""), "{\"a\": \"b\"}", FITS},
    {OF("\"type\": \"string\""), "{\"a\": 1}",
     "arguments: /a: must be of type string, is of type integer"},
    {OF("\"type\": \"integer\""), "{\"a\": 1.0}", FITS},
    {OF("\"type\": \"integer\""), "{\"a\": 1e300}", FITS},
    {OF("\"type\": \"integer\""), "{\"a\": 1.5}",
     "arguments: /a: must be of type integer, is of type number"},
    {OF("\"type\": \"number\""), "{\"a\": 1}", FITS},
    {OF("\"type\": \"number\""), "{\"a\": \"1\"}",
     "arguments: /a: must be of type number, is of type string"},
    {OF("\"type\": \"boolean\""), "{\"a\": false}", FITS},
    {OF("\"type\": \"boolean\""), "{\"a\": 0}",
     "arguments: /a: must be of type boolean, is of type integer"},
    {OF("\"type\": [\"array\", \"null\"]"), "{\"a\": null}", FITS},
    {OF("\"type\": [\"array\", \"null\"]"), "{\"a\": {}}",
     "arguments: /a: must be of type array, null, is of type object"},
    {"{\"type\": \"array\"}", "{}", "arguments: must be of type array, is of type object"},
    {"{\"required\": [\"b\", \"a/~\"]}", "{\"b\": null}", "arguments: /a~1~0: missing"},
    {"{\"required\": [\"b\"]}", "{\"b\": null}", FITS},
    {"{\"additionalProperties\": false}", "{}", FITS},
    {"{\"additionalProperties\": false}", "{\"a\\u001b\": 1}",
     "arguments: /a\\x1b: unknown member"},
    {"{\"properties\": {\"a\": true}, \"additionalProperties\": false}", "{\"a\": 1}", FITS},
    {"{\"properties\": {\"a\": false}}", "{\"a\": 1}", "arguments: /a: must not be there"},
    {"{\"properties\": {\"a\": true}, \"additionalProperties\": {\"type\": \"null\"}}",
     "{\"a\": 1, \"b\": 2}", "arguments: /b: must be of type null, is of type integer"},
    {OF("\"items\": {\"type\": \"string\"}"), "{\"a\": [\"b\", 1]}",
     "arguments: /a/1: must be of type string, is of type integer"},
    {OF("\"items\": false"), "{\"a\": []}", FITS},
    {OF("\"items\": false"), "{\"a\": \"no array\"}", FITS},
    {OF("\"enum\": [\"x\", 1, {\"b\": [1, null]}]"), "{\"a\": {\"b\": [1.0, null]}}", FITS},
    {OF("\"enum\": [\"x\", 1, {\"b\": [1, null]}]"), "{\"a\": {\"b\": [1, null, 2]}}",
     "arguments: /a: must be one of \"x\", 1, {\"b\":[1,null]}"},
    {OF("\"enum\": [\"\xC3\xA4\"]"), "{\"a\": \"b\"}", "arguments: /a: must be one of \"??\""},
    {OF("\"enum\": []"), "{\"a\": 1}", "arguments: /a: must be one of "},
    {OF("\"const\": \"x\""), "{\"a\": \"x\"}", FITS},
    {OF("\"const\": null"), "{\"a\": false}", "arguments: /a: must be null"},
    {OF("\"minimum\": 1"), "{\"a\": 1}", FITS},
    {OF("\"minimum\": 1"), "{\"a\": \"no number\"}", FITS},
    {OF("\"minimum\": 1"), "{\"a\": 0.5}", "arguments: /a: must be at least 1"},
    {OF("\"maximum\": 0.5"), "{\"a\": 1}", "arguments: /a: must be at most 0.5"},
    {OF("\"maximum\": 9007199254740992.0"), "{\"a\": 9007199254740993}",
     "arguments: /a: must be at most 9007199254740992.0"},
    {OF("\"exclusiveMinimum\": 1"), "{\"a\": 1.0}", "arguments: /a: must be more than 1"},
    {OF("\"exclusiveMaximum\": 1"), "{\"a\": 1}", "arguments: /a: must be less than 1"},
    {OF("\"exclusiveMaximum\": 1"), "{\"a\": 0}", FITS},
    {OF("\"minimum\": 1, \"exclusiveMinimum\": true"), "{\"a\": 1}",
     "arguments: /a: must be more than 1"},
    {OF("\"maximum\": 1, \"exclusiveMaximum\": false"), "{\"a\": 1}", FITS},
    {OF("\"minLength\": 2"), "{\"a\": \"\xF0\x9F\x98\x80\"}",
     "arguments: /a: must have at least 2 characters, has 1"},
    {OF("\"maxLength\": 1"), "{\"a\": \"\xF0\x9F\x98\x80\"}", FITS},
    {OF("\"maxLength\": 1"), "{\"a\": \"ab\"}",
     "arguments: /a: must have at most 1 characters, has 2"},
    {OF("\"minItems\": 1"), "{\"a\": []}", "arguments: /a: must have at least 1 items, has 0"},
    {OF("\"maxItems\": 0"), "{\"a\": [1]}", "arguments: /a: must have at most 0 items, has 1"},
    {OF("\"maxItems\": 0"), "{\"a\": {\"b\": 1}}", FITS},
    {OF("\"anyOf\": [{\"type\": \"string\"}, {\"minimum\": 3, \"type\": \"number\"}]"),
     "{\"a\": 4}", FITS},
    {OF("\"anyOf\": [{\"type\": \"string\"}, {\"minimum\": 3, \"type\": \"number\"}]"),
     "{\"a\": 2}", "arguments: /a: fits none of the 2 schemas of anyOf"},
    {OF("\"oneOf\": [{\"minimum\": 1}, {\"minimum\": 3}]"), "{\"a\": 2}", FITS},
    {OF("\"oneOf\": [{\"minimum\": 1}, {\"minimum\": 3}]"), "{\"a\": 3}",
     "arguments: /a: fits more than one of the schemas of oneOf"},
    {OF("\"oneOf\": [{\"minimum\": 1}, {\"minimum\": 3}]"), "{\"a\": 0}",
     "arguments: /a: fits none of the 2 schemas of oneOf"},
    {"{\"$schema\": \"x\", \"title\": 1, \"description\": [], \"default\": {}, \"examples\": 1, "
     "\"format\": \"email\", \"$defs\": {\"pattern\": 1}}",
     "{\"a\": 1}", FITS},
};

static struct tool_schema_result check(const char *schema_text, const char *arguments_text)
{
    json_auto_t *schema = json_loads(schema_text, 0, NULL);
    struct error error;
    json_auto_t *arguments =
        tool_arguments_read(arguments_text, strlen(arguments_text), 1u << 20, &error);
    struct tool_schema_result result;
    ck_assert_ptr_nonnull(schema);
    ck_assert_msg(arguments != NULL, "%s", error.message);
    tool_schema_check(schema, arguments, &result);
    return result;
}

START_TEST(checks)
{
    struct tool_schema_result result = check(rows[_i].schema, rows[_i].arguments);
    ck_assert_str_eq(result.message, rows[_i].message);
    ck_assert_int_eq(result.fits, rows[_i].message[0] == '\0');
    ck_assert(result.fully_checked);
    ck_assert_str_eq(result.unchecked, "");
}
END_TEST

/* What is not checked lets arguments through that the tool will refuse, and none less. */
static const struct {
    const char *schema;
    const char *arguments;
    const char *unchecked;
} unchecked[] = {
    {OF("\"pattern\": \"^b\""), "{\"a\": \"c\"}", "/properties/a/pattern"},
    {OF("\"$ref\": \"#/x\", \"type\": \"null\""), "{\"a\": 1}", "/properties/a/$ref"},
    {"{\"allOf\": [false]}", "{}", "/allOf"},
    {"{\"not\": {}}", "{}", "/not"},
    {"{\"patternProperties\": {\"x\": {}}, \"additionalProperties\": false}", "{\"x\": 1}",
     "/patternProperties"},
    {"{\"additionalProperties\": {\"uniqueItems\": true}}", "{\"a\": [1, 1]}",
     "/additionalProperties/uniqueItems"},
    {OF("\"prefixItems\": [true], \"items\": false"), "{\"a\": [1]}", "/properties/a/prefixItems"},
    {OF("\"items\": [false]"), "{\"a\": [1]}", "/properties/a/items"},
    {OF("\"items\": {\"multipleOf\": 2}"), "{\"a\": [1]}", "/properties/a/items/multipleOf"},
    {OF("\"type\": \"any\""), "{\"a\": 1}", "/properties/a/type"},
    {OF("\"type\": []"), "{\"a\": 1}", "/properties/a/type"},
    {OF("\"type\": [\"null\", 1]"), "{\"a\": 1}", "/properties/a/type"},
    {OF("\"minimum\": \"2\""), "{\"a\": 1}", "/properties/a/minimum"},
    {OF("\"maxLength\": -1"), "{\"a\": \"b\"}", "/properties/a/maxLength"},
    {"{\"required\": [1]}", "{}", "/required"},
    {"{\"required\": true}", "{}", "/required"},
    {"{\"properties\": {\"a\": 1}}", "{\"a\": 1}", "/properties"},
    {"{\"properties\": []}", "{\"a\": 1}", "/properties"},
    {"{\"enum\": {}}", "{}", "/enum"},
    {"{\"anyOf\": []}", "{}", "/anyOf"},
    {"{\"anyOf\": [{\"type\": \"object\"}, {\"minProperties\": 1}]}", "{}",
     "/anyOf/1/minProperties"},
    {"{\"oneOf\": [{\"minProperties\": 1}, {\"type\": \"object\"}]}", "{}",
     "/oneOf/0/minProperties"},
    {"{\"oneOf\": [1]}", "{}", "/oneOf"},
};

START_TEST(says_what_it_does_not_check)
{
    struct tool_schema_result result = check(unchecked[_i].schema, unchecked[_i].arguments);
    ck_assert_msg(result.fits, "%s", result.message);
    ck_assert(!result.fully_checked);
    ck_assert_str_eq(result.unchecked, unchecked[_i].unchecked);
}
END_TEST

/* Beside a keyword that is not checked the others are. */
START_TEST(still_checks_what_it_can)
{
    struct tool_schema_result result =
        check(OF("\"pattern\": \"^b\", \"maxLength\": 1"), "{\"a\": \"ccc\"}");
    ck_assert(!result.fits && !result.fully_checked);
    ck_assert_str_eq(result.message, "arguments: /a: must have at most 1 characters, has 3");
}
END_TEST

/* beginning, part that many times, end: new. */
static char *repeat(const char *beginning, const char *part, size_t count, const char *end)
{
    size_t length = strlen(part);
    char *text = malloc(strlen(beginning) + count * length + strlen(end) + 1);
    ck_assert_ptr_nonnull(text);
    char *at = stpcpy(text, beginning);
    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, part);
    (void)stpcpy(at, end);
    return text;
}

/* A table as a model would insert it. */
START_TEST(checks_large_arguments)
{
    CLEANUP_FREE char *rows_text =
        repeat("{\"rows\": [0", ", {\"id\": 1, \"name\": \"x\", \"tags\": [\"y\"]}", 10000, "]}");
    struct tool_schema_result result =
        check("{\"properties\": {\"rows\": {\"type\": \"array\", \"items\": {\"anyOf\": "
              "[{\"type\": \"integer\"}, {\"type\": \"object\", \"required\": [\"id\"], "
              "\"additionalProperties\": false, \"properties\": {\"id\": {\"type\": \"integer\", "
              "\"minimum\": 1}, \"name\": {\"type\": \"string\", \"minLength\": 1}, \"tags\": "
              "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}}}]}}}}",
              rows_text);
    ck_assert_msg(result.fits, "%s", result.message);
}
END_TEST

static double processor_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static void must_give_up(const char *schema, const char *arguments)
{
    double before = processor_seconds();
    struct tool_schema_result result = check(schema, arguments);
    double taken = processor_seconds() - before;
    ck_assert(!result.fits);
    ck_assert_str_eq(result.message,
                     "arguments: too large to be checked against the tool's schema");
    ck_assert_msg(taken < 20, "%f s", taken); /* 0.1 s, without sanitizers and load */
}

START_TEST(bounds_work)
{
    CLEANUP_FREE char *many = repeat("{\"a\": [0", ",0", 60000, "]}");
    CLEANUP_FREE char *texts = repeat("{\"a\": [\"\"", ", \"0123456789\"", 30000, "]}");
    CLEANUP_FREE char *enums = repeat("\"enum\": [", "1,", 20000, "\"\",\"0123456789\"]");
    CLEANUP_FREE char *required = repeat("\"required\": [", "\"b\",", 10000, "\"b\"]");
    CLEANUP_FREE char *alternatives = repeat("\"oneOf\": [", "{\"type\":\"null\"},", 3000, "true]");
    CLEANUP_FREE char *long_text = repeat("{\"a\": \"", "0123456789", 100000, "\"}");
    CLEANUP_FREE char *lengths = repeat("\"anyOf\": [", "{\"minLength\":9999999},", 2500, "true]");
    const char *const words[] = {enums, required, alternatives};
    char *schema = NULL;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        ck_assert_int_gt(
            asprintf(&schema, "{\"properties\": {\"a\": {\"items\": {%s}}}}", words[i]), 0);
        must_give_up(schema, i == 0 ? texts : many);
        free(schema);
    }
    ck_assert_int_gt(asprintf(&schema, "{\"properties\": {\"a\": {%s}}}", lengths), 0);
    must_give_up(schema, long_text);
    free(schema);
}
END_TEST

static struct tool_schema_result check_nested(const char *part, size_t count, const char *end,
                                              const char *close)
{
    CLEANUP_FREE char *beginning = repeat("", part, count, end);
    CLEANUP_FREE char *schema = repeat(beginning, close, count, "");
    return check(schema, "{}");
}

START_TEST(bounds_depth)
{
    struct tool_schema_result result =
        check_nested("{\"anyOf\":[", TOOL_SCHEMA_ALTERNATIVES, "true", "]}");
    ck_assert_msg(result.fits, "%s", result.message);
    result = check_nested("{\"anyOf\":[", TOOL_SCHEMA_ALTERNATIVES + 1, "true", "]}");
    ck_assert(!result.fits);
    ck_assert_str_eq(result.message,
                     "arguments: the tool's schema has too many alternatives in one another");
    /* One of the alternatives gives up, another would do. */
    result = check_nested("{\"anyOf\":[", TOOL_SCHEMA_ALTERNATIVES + 1, "true", ",true]}");
    ck_assert(!result.fits);
    /* It fits the first one of oneOf, and nobody knows about the second. */
    CLEANUP_FREE char *inner =
        repeat("{\"oneOf\":[true,", "{\"anyOf\":[", TOOL_SCHEMA_ALTERNATIVES, "true");
    CLEANUP_FREE char *one_of = repeat(inner, "]}", TOOL_SCHEMA_ALTERNATIVES + 1, "");
    result = check(one_of, "{}");
    ck_assert(!result.fits);
    ck_assert_ptr_nonnull(strstr(result.message, "too many alternatives"));
    /* A member of its own takes each level down. */
    CLEANUP_FREE char *beginning = repeat("", "{\"properties\":{\"a\":", 30, "{\"type\":\"null\"}");
    CLEANUP_FREE char *schema = repeat(beginning, "}}", 30, "");
    CLEANUP_FREE char *opening = repeat("", "{\"a\":", 30, "1");
    CLEANUP_FREE char *arguments = repeat(opening, "}", 30, "");
    result = check(schema, arguments);
    ck_assert_ptr_nonnull(strstr(result.message, "must be of type null, is of type integer"));
}
END_TEST

START_TEST(bounds_messages)
{
    CLEANUP_FREE char *values = repeat("\"enum\": [", "\"0123456789012345\",", 3000, "1]");
    CLEANUP_FREE char *name = repeat("", "a\x1b[31m", 2000, "");
    char *schema = NULL;
    ck_assert_int_gt(asprintf(&schema, "{\"additionalProperties\": {%s}}", values), 0);
    json_auto_t *words = json_loads(schema, 0, NULL);
    json_auto_t *arguments = json_pack("{s:i}", name, 2);
    struct tool_schema_result result;
    tool_schema_check(words, arguments, &result);
    free(schema);
    ck_assert(!result.fits);
    ck_assert_ptr_nonnull(strstr(result.message, "\"0123456789012345\", ..."));
    for (const char *byte = result.message; *byte != '\0'; byte++)
        ck_assert_msg(*byte >= 0x20 && *byte <= 0x7E, "%s", result.message);
}
END_TEST

static const char *const no_arguments[] = {
    "",
    "[]",
    "1",
    "{",
    "{\"a\":1,\"a\":2}",
    "{\"a\":\"\xff\"}",
    "{\"a\":\"\\u0000\"}",
    "{\"a\":1e999}",
    "{} {}",
    "{\"a\":NaN}",
};

START_TEST(reads_no_other_arguments)
{
    struct error error;
    CLEANUP_FREE char *deep = repeat("{\"a\":", "[", TOOL_ARGUMENTS_DEPTH_LIMIT, "");
    for (size_t i = 0; i < COUNT_OF(no_arguments); i++) {
        json_auto_t *value =
            tool_arguments_read(no_arguments[i], strlen(no_arguments[i]), 100, &error);
        ck_assert_msg(!value, "%s", no_arguments[i]);
        ck_assert_int_eq(error.code, ERROR_INVALID_INPUT);
    }
    ck_assert_ptr_null(tool_arguments_read(deep, strlen(deep), 100, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "nested deeper than 32"));
    ck_assert_ptr_null(tool_arguments_read("{\"a\":1}", 7, 6, &error));
    ck_assert_str_eq(error.message, "arguments: longer than 6 bytes");
    json_auto_t *whole = tool_arguments_read("{\"a\":1}", 7, 7, &error);
    ck_assert_ptr_nonnull(whole);
}
END_TEST

static const struct {
    const char *left, *right;
    int order;
} numbers[] = {
    {"1", "2", -1},
    {"1", "1.0", 0},
    {"1.5", "1", 1},
    {"-1.5", "-1", -1},
    {"-1", "-0.5", -1},
    {"9007199254740993", "9007199254740992.0", 1},
    {"9223372036854775807", "9223372036854775808.0", -1},
    {"-9223372036854775808", "-9223372036854775808.0", 0},
    {"-9223372036854775808", "-1e300", 1},
    {"0.1", "0.2", -1},
};

START_TEST(compares_numbers)
{
    json_auto_t *left = json_loads(numbers[_i].left, JSON_DECODE_ANY, NULL);
    json_auto_t *right = json_loads(numbers[_i].right, JSON_DECODE_ANY, NULL);
    ck_assert_int_eq(json_number_compare(left, right), numbers[_i].order);
    ck_assert_int_eq(json_number_compare(right, left), -numbers[_i].order);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("keywords"), tcase_create("bounds")};
    tcase_add_loop_test(cases[0], checks, 0, COUNT_OF(rows));
    tcase_add_loop_test(cases[0], says_what_it_does_not_check, 0, COUNT_OF(unchecked));
    tcase_add_test(cases[0], still_checks_what_it_can);
    tcase_add_loop_test(cases[0], compares_numbers, 0, COUNT_OF(numbers));
    tcase_add_test(cases[1], checks_large_arguments);
    tcase_add_test(cases[1], bounds_work);
    tcase_add_test(cases[1], bounds_depth);
    tcase_add_test(cases[1], bounds_messages);
    tcase_add_test(cases[1], reads_no_other_arguments);
    return run_suite("tool_schema", cases, COUNT_OF(cases));
}
