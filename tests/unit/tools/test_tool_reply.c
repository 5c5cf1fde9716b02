/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway's replies as answers: every form, what is refused and why, beyond every bound, and
 * with each allocation of ours failed once.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../support/failing_memory.h"
#include "base/cleanup.h"
#include "tap_suite.h"
#include "tools/tool_answer.h"

#define LIMIT         65536
#define TEXT(text)    "{\"type\":\"text\",\"text\":\"" text "\"}"
#define IMAGE         "{\"type\":\"image\",\"data\":\"AAEC\",\"mimeType\":\"image/png\"}"
#define CONTENT(list) "{\"content\":[" list "]}"

static const struct {
    const char *reply;
    enum tool_answer_form form;
    const char *bytes;
    size_t length; /* 0: up to its NUL */
    bool has_output_schema;
} rows[] = {
    {CONTENT(""), TOOL_ANSWER_JSON, .bytes = "null"},
    {CONTENT(TEXT("a\\n\xC3\xA4\\u001b")), TOOL_ANSWER_TEXT, .bytes = "a\n\xC3\xA4\x1b"},
    {CONTENT(TEXT("")), TOOL_ANSWER_TEXT, .bytes = ""},
    {CONTENT(TEXT(" {\\\"a\\\": [1, 2.50]} ")), TOOL_ANSWER_JSON, .bytes = "{\"a\":[1,2.5]}",
     .has_output_schema = true},
    {CONTENT(TEXT("7")), TOOL_ANSWER_JSON, .bytes = "7", .has_output_schema = true},
    {CONTENT(TEXT("7")), TOOL_ANSWER_TEXT, .bytes = "7"},
    {CONTENT(IMAGE), TOOL_ANSWER_BYTES, .bytes = "\x09image/png\0\x01\x02", .length = 13},
    {CONTENT(IMAGE), TOOL_ANSWER_BYTES, .bytes = "\x09image/png\0\x01\x02", .length = 13,
     .has_output_schema = true},
    {CONTENT("{\"type\":\"audio\",\"data\":\"\",\"mime_type\":\"audio/wav\"}"), TOOL_ANSWER_BYTES,
     .bytes = "\x09"
              "audio/wav"},
    {CONTENT("{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"blob\":\"AAEC\"}}"),
     TOOL_ANSWER_BYTES,
     .bytes = "\x18"
              "application/octet-stream\0\x01\x02",
     .length = 28},
    {CONTENT("{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"c\",\"blob\":null,"
             "\"mimeType\":null}}"),
     TOOL_ANSWER_TEXT, .bytes = "c"},
    {CONTENT("{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"c\"}"), TOOL_ANSWER_CONTENT,
     .bytes = "[{\"type\":\"resource\",\"mime_type\":\"text/"
              "uri-list\",\"text\":\"a:b\",\"uri\":\"a:b\"}]"},
    {CONTENT(TEXT("a") "," IMAGE "," TEXT("b")), TOOL_ANSWER_CONTENT,
     .bytes = "[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\",\"mime_type\":\"image/png\","
              "\"data\":\"AAEC\"},{\"type\":\"text\",\"text\":\"b\"}]"},
    {CONTENT(TEXT("1") "," TEXT("2")), TOOL_ANSWER_CONTENT,
     .bytes = "[{\"type\":\"text\",\"text\":\"1\"},{\"type\":\"text\",\"text\":\"2\"}]",
     .has_output_schema = true},
    {CONTENT(TEXT("a") ",{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"c\","
                       "\"mimeType\":\"text/plain\"}}"),
     TOOL_ANSWER_CONTENT,
     .bytes =
         "[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"resource\",\"mime_type\":\"text/plain\","
         "\"text\":\"c\",\"uri\":\"a:b\"}]"},
    {"{\"content\":[" TEXT("a") "],\"structured_content\":{\"b\":1e2,\"a\":9007199254740993}}",
     TOOL_ANSWER_JSON, .bytes = "{\"b\":100.0,\"a\":9007199254740993}"},
    {"{\"content\":[],\"structuredContent\":[],\"isError\":false,\"_meta\":{}}", TOOL_ANSWER_JSON,
     .bytes = "[]"},
    {"{\"structured_content\":0}", TOOL_ANSWER_JSON, .bytes = "0"},
    {"{\"content\":[" TEXT("a") "],\"structuredContent\":null,\"isError\":null}", TOOL_ANSWER_TEXT,
     .bytes = "a"},
    {"{\"content\":[" TEXT("no") "," IMAGE "," TEXT("way") "],\"is_error\":true}",
     TOOL_ANSWER_ERROR,
     .bytes = "{\"code\":\"tool_error\",\"message\":\"no\\nway\",\"retryable\":false}"},
    {"{\"content\":[],\"isError\":true,\"structuredContent\":{}}", TOOL_ANSWER_ERROR,
     .bytes = "{\"code\":\"tool_error\",\"message\":\"the tool itself answered with an error\","
              "\"retryable\":false}"},
};

START_TEST(reads)
{
    CLEANUP(tool_answer_clear) struct tool_answer answer = {0};
    struct error error;
    size_t length = rows[_i].length > 0 ? rows[_i].length : strlen(rows[_i].bytes);
    ck_assert_msg(tool_reply_read(rows[_i].reply, strlen(rows[_i].reply), LIMIT,
                                  rows[_i].has_output_schema, &answer, &error),
                  "%s", error.message);
    ck_assert_int_eq(answer.form, rows[_i].form);
    ck_assert_msg(answer.length == length && memcmp(answer.bytes, rows[_i].bytes, length) == 0,
                  "\"%.*s\" instead of \"%s\"", (int)answer.length, (const char *)answer.bytes,
                  rows[_i].bytes);
}
END_TEST

static const struct {
    const char *reply;
    const char *message;
} refused[] = {
    {"", "reply: the text ends too early"},
    {"[]", "reply: must be an object"},
    {"{}", "reply: /content: missing"},
    {"{\"content\":null}", "reply: /content: must be an array"},
    {"{\"content\":{},\"structured_content\":1}", "reply: /content: must be an array"},
    {"{\"content\":[],\"content\":[]}", "reply: /content: duplicate member"},
    {"{\"content\":[]", "reply: /content: the text ends too early"},
    {"{\"content\":[]} x", "reply: bytes after the object"},
    {CONTENT(TEXT("\xff")), "reply: /content/0/text: bad UTF-8"},
    {CONTENT(TEXT("\\u0000")), "reply: /content/0/text: NUL character"},
    {"{\"structured_content\":1e999}", "reply: /structured_content: a number out of range"},
    {"{\"structured_content\":1,\"structuredContent\":1}",
     "reply: has both structured_content and structuredContent"},
    {"{\"content\":[],\"isError\":1}", "reply: /is_error: must be true or false"},
    {"{\"content\":[],\"isError\":true,\"is_error\":false}",
     "reply: has both is_error and isError"},
    {CONTENT("1"), "reply: /content/0: must be an object"},
    {CONTENT("{}"), "reply: /content/0/type: missing"},
    {CONTENT("{\"type\":\"video\"}"),
     "reply: /content/0/type: must be text, image, audio, resource or resource_link"},
    {CONTENT("{\"type\":\"text\"}"), "reply: /content/0/text: missing"},
    {CONTENT("{\"type\":\"text\",\"text\":1}"), "reply: /content/0/text: must be a string"},
    {CONTENT("{\"type\":\"image\",\"data\":\"AAEC\"}"), "reply: /content/0/mimeType: missing"},
    {CONTENT("{\"type\":\"image\",\"data\":\"AAEC\",\"mimeType\":\"png\"}"),
     "reply: /content/0/mimeType: must be a MIME type"},
    {CONTENT("{\"type\":\"image\",\"data\":\"AAEC\",\"mimeType\":\"a/\\n\"}"),
     "reply: /content/0/mimeType: must be a MIME type"},
    {CONTENT("{\"type\":\"image\",\"data\":\"AAEC\",\"mimeType\":\"a/b\",\"mime_type\":\"a/b\"}"),
     "reply: /content/0: has both mimeType and mime_type"},
    {CONTENT("{\"type\":\"image\",\"data\":\"AAE\",\"mimeType\":\"a/b\"}"),
     "reply: /content/0: data that is not Base64"},
    {CONTENT(TEXT("a") ",{\"type\":\"image\",\"data\":\"A===\",\"mimeType\":\"a/b\"}"),
     "reply: /content/1: data that is not Base64"},
    {CONTENT(TEXT("a") "," TEXT("b") ",7"), "reply: /content/2: must be an object"},
    {CONTENT("{\"type\":\"resource\"}"), "reply: /content/0/resource: missing"},
    {CONTENT("{\"type\":\"resource\",\"resource\":{\"text\":\"a\"}}"),
     "reply: /content/0/resource/uri: missing"},
    {CONTENT("{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\"}}"),
     "reply: /content/0/resource: must have either text or blob"},
    {CONTENT("{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"\",\"blob\":\"\"}}"),
     "reply: /content/0/resource: must have either text or blob"},
    {CONTENT("{\"type\":\"resource\",\"resource\":{\"uri\":\"a\\nb\",\"text\":\"\"}}"),
     "reply: /content/0/resource/uri: must not hold control characters"},
    {CONTENT("{\"type\":\"resource_link\"}"), "reply: /content/0/uri: missing"},
    {"{\"content\":[7],\"is_error\":true}", "reply: /content/0: must be an object"},
};

START_TEST(refuses)
{
    struct tool_answer answer = {0};
    struct error error;
    ck_assert(!tool_reply_read(refused[_i].reply, strlen(refused[_i].reply), LIMIT, false, &answer,
                               &error));
    ck_assert_int_eq(error.code, ERROR_INVALID_HOST);
    ck_assert_str_eq(error.message, refused[_i].message);
    ck_assert_ptr_null(answer.bytes);
}
END_TEST

static const char *const no_json[] = {"", "plain words", "{\\\"a\\\":1,\\\"a\\\":2}", "[1"};

START_TEST(refuses_a_text_that_breaks_the_output_schema)
{
    for (size_t i = 0; i < COUNT_OF(no_json); i++) {
        struct tool_answer answer = {0};
        struct error error;
        char reply[256];
        int length = snprintf(reply, sizeof(reply), CONTENT(TEXT("%s")), no_json[i]);
        ck_assert(!tool_reply_read(reply, (size_t)length, LIMIT, true, &answer, &error));
        ck_assert_int_eq(error.code, ERROR_INVALID_HOST);
        ck_assert_int_eq(strncmp(error.message, "the text of a tool with an output schema: ", 42),
                         0);
    }
}
END_TEST

START_TEST(bounds_bytes)
{
    struct error error;
    static const char whole[] = "{\"structured_content\":[1e14,1e14,1e14,1e14]}";
    size_t length = sizeof(whole) - 1;
    CLEANUP(tool_answer_clear) struct tool_answer answer = {0};
    ck_assert(!tool_reply_read(whole, length, length - 1, false, &answer, &error));
    ck_assert_str_eq(error.message, "reply: longer than 43 bytes");
    /* Written out, the numbers are longer. */
    ck_assert(!tool_reply_read(whole, length, length, false, &answer, &error));
    ck_assert_str_eq(error.message, "reply: longer than 44 bytes");
    ck_assert_ptr_null(answer.bytes);
    ck_assert(tool_reply_read(whole, length, 2 * length, false, &answer, &error));
}
END_TEST

START_TEST(bounds_depth_and_values)
{
    struct error error;
    size_t count = TOOL_REPLY_VALUES_LIMIT;
    CLEANUP_FREE char *text = malloc(2 * count + 64);
    for (size_t depth = TOOL_REPLY_DEPTH_LIMIT - 1; depth <= TOOL_REPLY_DEPTH_LIMIT; depth++) {
        CLEANUP(tool_answer_clear) struct tool_answer answer = {0};
        char *at = stpcpy(text, "{\"structured_content\":");
        at = (char *)memset(at, '[', depth) + depth;
        at = (char *)memset(at, ']', depth) + depth;
        (void)stpcpy(at, "}");
        ck_assert_int_eq(tool_reply_read(text, strlen(text), LIMIT, false, &answer, &error),
                         depth < TOOL_REPLY_DEPTH_LIMIT);
    }
    for (size_t more = 0; more < 2; more++) {
        CLEANUP(tool_answer_clear) struct tool_answer answer = {0};
        char *at = stpcpy(text, "{\"structured_content\":[0");
        for (size_t i = 0; i < count - 3 + more; i++)
            at = stpcpy(at, ",0");
        (void)stpcpy(at, "]}");
        ck_assert_int_eq(tool_reply_read(text, strlen(text), 4u << 20, false, &answer, &error),
                         more == 0);
    }
    ck_assert_str_eq(error.message, "reply: more than 262144 values");
}
END_TEST

/* The cut is in the middle of a character of two bytes. */
START_TEST(cuts_the_message_of_an_error)
{
    CLEANUP(tool_answer_clear) struct tool_answer answer = {0};
    struct error error;
    CLEANUP_FREE char *text = malloc((size_t)8 * TOOL_MESSAGE_LIMIT);
    char *at = stpcpy(text, "{\"is_error\":true,\"content\":[" TEXT("a") ",{\"type\":\"text\","
                                                                         "\"text\":\"bc");
    for (size_t i = 0; i < TOOL_MESSAGE_LIMIT; i++)
        at = stpcpy(at, "\xC3\xA4");
    (void)stpcpy(at, "\"}]}");
    ck_assert(tool_reply_read(text, strlen(text), LIMIT, false, &answer, &error));
    json_auto_t *json = json_loadb((const char *)answer.bytes, answer.length, 0, NULL);
    const char *message = json_string_value(json_object_get(json, "message"));
    ck_assert_ptr_nonnull(message);
    ck_assert_uint_eq(strlen(message), TOOL_MESSAGE_LIMIT);
    ck_assert_int_eq(strncmp(message, "a\nbc\xC3\xA4", 6), 0);
    tool_answer_clear(&answer);
    ck_assert(tool_error_answer(TOOL_ERROR_TIMEOUT,
                                "\xff"
                                "bc\xC3",
                                true, &answer));
    ck_assert_int_eq(answer.code, TOOL_ERROR_TIMEOUT);
    ck_assert_str_eq((const char *)answer.bytes,
                     "{\"code\":\"timeout\",\"message\":\"?bc\",\"retryable\":true}");
}
END_TEST

START_TEST(names_every_error)
{
    for (int i = 0; i < TOOL_ERROR_COUNT; i++) {
        const char *name = tool_error_name((enum tool_error_code)i);
        ck_assert_uint_eq(strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
        ck_assert_ptr_nonnull(tool_error_meaning((enum tool_error_code)i));
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(name, tool_error_name((enum tool_error_code)j));
    }
}
END_TEST

/* false: an allocation has failed, and nothing but that was wrong. */
static bool read_with_failure(size_t row, long failing)
{
    CLEANUP(tool_answer_clear) struct tool_answer answer = {0};
    struct error error = {.code = ERROR_CODE_COUNT};
    memory_left = failing;
    bool done = tool_reply_read(rows[row].reply, strlen(rows[row].reply), LIMIT,
                                rows[row].has_output_schema, &answer, &error);
    bool failed = memory_left < 0;
    memory_left = -1;
    ck_assert_msg(done || failed, "row %zu: %s", row, error.message);
    ck_assert_msg(done || error.code == ERROR_OUT_OF_MEMORY, "row %zu, allocation %ld: %s", row,
                  failing, error.message);
    ck_assert_int_eq(answer.bytes != NULL, done);
    return !failed;
}

START_TEST(survives_a_lack_of_memory)
{
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        long failing = 0;
        while (!read_with_failure(row, failing))
            failing++;
        ck_assert_int_ge(failing, 2);
    }
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("forms"), tcase_create("bounds")};
    tcase_add_loop_test(cases[0], reads, 0, COUNT_OF(rows));
    tcase_add_loop_test(cases[0], refuses, 0, COUNT_OF(refused));
    tcase_add_test(cases[0], refuses_a_text_that_breaks_the_output_schema);
    tcase_add_test(cases[0], names_every_error);
    tcase_add_test(cases[1], bounds_bytes);
    tcase_add_test(cases[1], bounds_depth_and_values);
    tcase_add_test(cases[1], cuts_the_message_of_an_error);
    tcase_add_test(cases[1], survives_a_lack_of_memory);
    return run_suite("tool_reply", cases, COUNT_OF(cases));
}
