/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_input: what is refused, and that the message names the place and echoes nothing.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tap_suite.h"
#include "json/json_input.h"

#define TEXT(literal) literal, sizeof(literal) - 1

static const struct json_input_limits limits = {.max_bytes = 4096, .max_depth = 4};

static const struct {
    const char *text;
    size_t length;
    const char *message;
} refused[] = {
    {TEXT(""), "request: the text ends too early"},
    {TEXT("{"), "request: the text ends too early"},
    {TEXT("{\"a\":[1,"), "request: /a/1: the text ends too early"},
    {TEXT("[]"), "request: must be an object"},
    {TEXT("\"text\""), "request: must be an object"},
    {TEXT("null"), "request: must be an object"},
    {TEXT("{} {}"), "request: bytes after the object"},
    {TEXT("{}\0"), "request: bytes after the object"},
    {TEXT("{\"args\":[\"a\",\"b\",\"\xff\"]}"), "request: /args/2: bad UTF-8"},
    {TEXT("{\"\xc3\":1}"), "request: bad UTF-8"},
    {TEXT("{\"a\":\"\xed\xa0\x80\"}"), "request: /a: bad UTF-8"},
    {TEXT("{\"a\":1,\"a\":2}"), "request: /a: duplicate member"},
    {TEXT("{\"env\":{\"A\":\"1\",\"B\":\"\",\"A\":\"2\"}}"), "request: /env/A: duplicate member"},
    {TEXT("{\"a\":1,\"\\u0061\":2}"), "request: /\\u0061: duplicate member"},
    {TEXT("{\"code\":\"a\\u0000b\"}"), "request: /code: NUL character"},
    {TEXT("{\"a\\u0000\":1}"), "request: /a\\u0000: NUL character"},
    {TEXT("{\"code\":\"a\nb\"}"), "request: /code: a control character that is not escaped"},
    {TEXT("{\"code\":\"\\ud800\"}"), "request: /code: an escape that is not a Unicode character"},
    {TEXT("{\"a\":{\"b\":[{\"c\":[]}]}}"), "request: /a/b/0/c: nested deeper than 4"},
    {TEXT("{\"a\":[[[]]],\"b\":[[[[]]]]}"), "request: /b/0/0/0: nested deeper than 4"},
    {TEXT("{\"a\":1e999}"), "request: /a: a number out of range"},
    {TEXT("{\"a\":99999999999999999999}"), "request: /a: a number out of range"},
    {TEXT("{\"a\":[1,2,x]}"), "request: /a/2: not JSON at line 1, byte 11 of it"},
    {TEXT("{\"a\":1,}"), "request: not JSON at line 1, byte 8 of it"},
    {TEXT("{\n \"a\": [1]\n \"b\": 2\n}"), "request: /a: not JSON at line 3, byte "},
    {TEXT("{'a':1}"), "request: not JSON at line 1, byte 2 of it"},
    {TEXT("{\"a\":NaN}"), "request: /a: not JSON at line 1, byte"},
    {TEXT("{\"a~b/c\":\"\xff\"}"), "request: /a~0b~1c: bad UTF-8"},
    {TEXT("{\"\\\"q\\\\\\/\":\"\xff\"}"), "request: /\"q\\~1: bad UTF-8"},
    {TEXT("{\"a\x7f\xc3\xa4\":\"\xff\"}"), "request: /a\\x7f\\xc3\\xa4: bad UTF-8"},
};

START_TEST(refuses_and_names_the_place)
{
    struct error error;
    json_t *value = json_input_parse("request", refused[_i].text, refused[_i].length, &limits,
                                     ERROR_INVALID_INPUT, &error);
    ck_assert_ptr_null(value);
    ck_assert_int_eq(error.code, ERROR_INVALID_INPUT);
    ck_assert_msg(strncmp(error.message, refused[_i].message, strlen(refused[_i].message)) == 0,
                  "\"%s\" instead of \"%s\"", error.message, refused[_i].message);
}
END_TEST

static const char *const accepted[] = {
    "{}",
    " {\"a\": \"[[[[[[{{{{{{\"} \n",
    "{\"a\":{\"b\":[{}]}}",
    "{\"a\":\"\\\"[[[[[[\\\\\"}",
    "{\"a\":\"\\ud83d\\ude00\"}",
    "{\"a\":[[[]],[[]],[[]]]}",
};

START_TEST(accepts)
{
    struct error error = {.message = "untouched"};
    json_auto_t *value = json_input_parse("request", accepted[_i], strlen(accepted[_i]), &limits,
                                          ERROR_INVALID_INPUT, &error);
    ck_assert_msg(value != NULL, "%s", error.message);
    ck_assert_str_eq(error.message, "untouched");
}
END_TEST

START_TEST(bounds_length)
{
    struct error error;
    char text[4098];
    memset(text, ' ', sizeof(text));
    text[0] = '{';
    text[1] = '}';
    json_auto_t *value =
        json_input_parse("request", text, 4096, &limits, ERROR_INVALID_INPUT, &error);
    ck_assert_ptr_nonnull(value);
    ck_assert_ptr_null(
        json_input_parse("request", text, 4097, &limits, ERROR_INVALID_POLICY, &error));
    ck_assert_int_eq(error.code, ERROR_INVALID_POLICY);
    ck_assert_str_eq(error.message, "request: longer than 4096 bytes");
}
END_TEST

START_TEST(bounds_values)
{
    static const struct json_input_limits wide = {.max_bytes = 1u << 20, .max_depth = 4};
    struct error error;
    size_t count = JSON_INPUT_VALUES_LIMIT;
    CLEANUP_FREE char *text = malloc(2 * count + 16);
    size_t used = (size_t)sprintf(text, "{\"a\":[0");
    for (size_t i = 0; i < count; i++) {
        text[used++] = ',';
        text[used++] = '0';
    }
    text[used++] = ']';
    text[used++] = '}';
    ck_assert_ptr_null(json_input_parse("request", text, used, &wide, ERROR_INVALID_INPUT, &error));
    ck_assert_str_eq(error.message, "request: more than 65536 values");
    const struct json_input_limits more = {
        .max_bytes = 1u << 20, .max_depth = 4, .max_values = count + 3};
    json_auto_t *value =
        json_input_parse("request", text, used, &more, ERROR_INVALID_INPUT, &error);
    ck_assert_uint_eq(json_array_size(json_object_get(value, "a")), count + 1);
}
END_TEST

START_TEST(takes_any_value_where_it_is_asked_to)
{
    static const char *const any[] = {"[]", "\"text\"", "null", " -1.5 ", "{}"};
    struct error error;
    for (size_t i = 0; i < COUNT_OF(any); i++) {
        json_auto_t *value = json_input_parse_any("answer", any[i], strlen(any[i]), &limits,
                                                  ERROR_INVALID_INPUT, &error);
        ck_assert_msg(value != NULL, "%s: %s", any[i], error.message);
    }
    ck_assert_ptr_null(
        json_input_parse_any("answer", "1 2", 3, &limits, ERROR_INVALID_INPUT, &error));
}
END_TEST

/* jansson would recurse; the scan does not, whatever the limit that is asked for. */
START_TEST(survives_a_million_brackets)
{
    static const struct json_input_limits wide = {.max_bytes = 4u << 20, .max_depth = 1u << 30};
    struct error error;
    size_t length = 1u << 20;
    CLEANUP_FREE char *text = malloc(length);
    memset(text, '[', length);
    ck_assert_ptr_null(
        json_input_parse("request", text, length, &wide, ERROR_INVALID_INPUT, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "nested deeper than 64"));
    ck_assert_uint_lt(strlen(error.message), JSON_POINTER_LIMIT + 64);
}
END_TEST

START_TEST(cuts_long_names)
{
    struct error error;
    char text[4096];
    char name[1024];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    int length = snprintf(text, sizeof(text), "{\"%s\":1,\"%s\":2}", name, name);
    ck_assert_ptr_null(
        json_input_parse("request", text, (size_t)length, &limits, ERROR_INVALID_INPUT, &error));
    ck_assert_uint_lt(strlen(error.message), JSON_POINTER_LIMIT + 64);
    ck_assert_ptr_nonnull(strstr(error.message, "nnn...: duplicate member"));
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("refusals"), tcase_create("bounds")};
    tcase_add_loop_test(cases[0], refuses_and_names_the_place, 0, COUNT_OF(refused));
    tcase_add_loop_test(cases[0], accepts, 0, COUNT_OF(accepted));
    tcase_add_test(cases[1], bounds_length);
    tcase_add_test(cases[1], bounds_values);
    tcase_add_test(cases[1], takes_any_value_where_it_is_asked_to);
    tcase_add_test(cases[1], survives_a_million_brackets);
    tcase_add_test(cases[1], cuts_long_names);
    return run_suite("json_input", cases, COUNT_OF(cases));
}
