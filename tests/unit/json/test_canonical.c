/* SPDX-License-Identifier: Apache-2.0 */
/*
 * canonical: the examples of RFC 8785 that have no real numbers, and FIPS 180-4's of SHA-256; texts
 * in the order they were made in, and texts that are written piece by piece.
 */
#include <string.h>

#include "base/cleanup.h"
#include "tap_suite.h"
#include "json/canonical.h"
#include "json/json_text.h"

static const struct {
    const char *text;
    const char *canonical;
} rows[] = {
    {"{}", "{}"},
    {"[]", "[]"},
    {" [ 1 , -2 , true , false , null ] ", "[1,-2,true,false,null]"},
    {"{\"b\":1,\"a\":{\"d\":[],\"c\":\"\"}}", "{\"a\":{\"c\":\"\",\"d\":[]},\"b\":1}"},
    {"{\"aa\":1,\"a\":2,\"\":3,\"B\":4}", "{\"\":3,\"B\":4,\"a\":2,\"aa\":1}"},
    /* RFC 8785, 3.2.2: escapes */
    {"{\"s\":\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\"}",
     "{\"s\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"},
    {"{\"s\":\"\\b\\t\\n\\f\\r\\u001f\x7f\"}", "{\"s\":\"\\b\\t\\n\\f\\r\\u001f\x7f\"}"},
    /* RFC 8785, 3.2.3: order by UTF-16 code units */
    {"{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\",\"\\ufb33\":\"Hebrew Letter Dalet "
     "With Dagesh\",\"1\":\"One\",\"\\ud83d\\ude00\":\"Emoji: Grinning "
     "Face\",\"\\u0080\":\"Control\",\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
     "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\",\"\xc3\xb6\":\"Latin "
     "Small Letter O With Diaeresis\",\"\xe2\x82\xac\":\"Euro Sign\",\"\xf0\x9f\x98\x80\":\"Emoji: "
     "Grinning Face\",\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}"},
    {"[9007199254740993,-9223372036854775808]", "[9007199254740993,-9223372036854775808]"},
};

START_TEST(writes_canonical)
{
    json_auto_t *value = json_loads(rows[_i].text, 0, NULL);
    CLEANUP_FREE char *text = canonical_json(value);
    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, rows[_i].canonical);
}
END_TEST

START_TEST(refuses_real_numbers)
{
    char hash[SHA256_HEX_LENGTH + 1];
    json_auto_t *value = json_loads("{\"a\":[1,{\"b\":1.0}]}", 0, NULL);
    ck_assert_ptr_null(canonical_json(value));
    ck_assert(!canonical_sha256(value, hash));
}
END_TEST

START_TEST(hashes)
{
    char hash[SHA256_HEX_LENGTH + 1];
    sha256_hex("", 0, hash);
    ck_assert_str_eq(hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256_hex("abc", 3, hash);
    ck_assert_str_eq(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    json_auto_t *value = json_loads("{ \"b\" : 2, \"a\" : 1 }", 0, NULL);
    ck_assert(canonical_sha256(value, hash));
    ck_assert_str_eq(hash, "43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777");
}
END_TEST

START_TEST(keeps_the_order_where_it_is_told_to)
{
    json_auto_t *value =
        json_loads("{\"b\":{\"d\":1,\"c\":[{}]},\"a\":\"x\\u0000y\"}", JSON_ALLOW_NUL, NULL);
    CLEANUP_FREE char *made = json_text(value, JSON_ORDER_MADE);
    CLEANUP_FREE char *sorted = json_text(value, JSON_ORDER_SORTED);
    ck_assert_str_eq(made, "{\"b\":{\"d\":1,\"c\":[{}]},\"a\":\"x\\u0000y\"}");
    ck_assert_str_eq(sorted, "{\"a\":\"x\\u0000y\",\"b\":{\"c\":[{}],\"d\":1}}");
    ck_assert_ptr_null(json_text(NULL, JSON_ORDER_MADE));
}
END_TEST

START_TEST(sorts_real_numbers_where_it_is_told_to)
{
    json_auto_t *value = json_loads("{\"b\":[0.1,1e300,1.0,1],\"a\":-2.5}", 0, NULL);
    CLEANUP_FREE char *sorted = json_text(value, JSON_ORDER_SORTED_REAL);
    ck_assert_str_eq(sorted, "{\"a\":-2.5,\"b\":[0.1,1e+300,1.0,1]}");
    ck_assert_ptr_null(json_text(value, JSON_ORDER_SORTED));
}
END_TEST

START_TEST(writes_piece_by_piece)
{
    struct json_draft draft = {.order = JSON_ORDER_SORTED};
    size_t length = 0;
    json_draft_open(&draft, NULL, '{');
    json_draft_string(&draft, "brackets", "{[");
    json_draft_open(&draft, "list", '[');
    json_draft_string(&draft, NULL, NULL);
    json_draft_integer(&draft, NULL, INT64_MIN);
    json_draft_open(&draft, NULL, '{');
    json_draft_close(&draft, '}');
    json_draft_boolean(&draft, NULL, true);
    json_draft_close(&draft, ']');
    json_draft_bytes(&draft, "\"", "\xC3\xA4\n\0", 4);
    json_draft_value(&draft, "value", json_pack("{s:i, s:b}", "z", 1, "a", 0));
    json_draft_close(&draft, '}');
    CLEANUP_FREE char *text = json_draft_take(&draft, &length);
    ck_assert_str_eq(text, "{\"brackets\":\"{[\",\"list\":[null,-9223372036854775808,{},true],"
                           "\"\\\"\":\"\xC3\xA4\\n\\u0000\",\"value\":{\"a\":false,\"z\":1}}");
    ck_assert_uint_eq(length, strlen(text));
    ck_assert_ptr_null(draft.bytes);
}
END_TEST

static const char *const not_utf8[] = {"\x80", "a\xC3", "\xED\xA0\x80", "\xFF"};

START_TEST(a_draft_that_failed_is_no_text)
{
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t length = 0;
    json_draft_open(&draft, NULL, '[');
    if (_i < (int)COUNT_OF(not_utf8))
        json_draft_string(&draft, NULL, not_utf8[_i]);
    else
        json_draft_value(&draft, NULL, NULL);
    json_draft_integer(&draft, NULL, 1);
    json_draft_string(&draft, NULL, "good");
    json_draft_boolean(&draft, NULL, true);
    json_draft_open(&draft, NULL, '[');
    json_draft_close(&draft, ']');
    json_draft_value(&draft, NULL, json_true());
    json_draft_close(&draft, ']');
    ck_assert_ptr_null(json_draft_take(&draft, &length));
    ck_assert_ptr_null(draft.bytes);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("canonical")};
    tcase_add_loop_test(cases[0], writes_canonical, 0, COUNT_OF(rows));
    tcase_add_test(cases[0], refuses_real_numbers);
    tcase_add_test(cases[0], sorts_real_numbers_where_it_is_told_to);
    tcase_add_test(cases[0], hashes);
    tcase_add_test(cases[0], keeps_the_order_where_it_is_told_to);
    tcase_add_test(cases[0], writes_piece_by_piece);
    tcase_add_loop_test(cases[0], a_draft_that_failed_is_no_text, 0, (int)COUNT_OF(not_utf8) + 1);
    return run_suite("canonical", cases, COUNT_OF(cases));
}
