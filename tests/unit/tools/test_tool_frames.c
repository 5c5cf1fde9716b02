/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of calls: what a stranger sends, and what goes back. */
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "tap_suite.h"
#include "tools/tool_frames.h"

#define ARGUMENTS_LIMIT 8
#define BYTES(text)     text, sizeof(text) - 1

START_TEST(reads_a_call)
{
    static const char payload[] = "\x04\x03\x02\x01\x03\x00"
                                  "a.b{\"c\":1}";
    struct tool_call_frame call;
    struct tool_refusal refusal;
    ck_assert(tool_call_frame_read((const unsigned char *)payload, sizeof(payload) - 1,
                                   ARGUMENTS_LIMIT, &call, &refusal));
    ck_assert_uint_eq(call.number, 0x01020304);
    ck_assert_str_eq(call.name, "a.b");
    ck_assert_uint_eq(call.arguments_length, 7);
    ck_assert_ptr_eq(call.arguments, payload + 9);
}
END_TEST

static const struct {
    const char *payload;
    size_t length;
    uint32_t number;
    const char *code; /* NULL: nobody is answered */
} refused[] = {
    {BYTES(""), 0, NULL},
    {BYTES("\x01\x00\x00"), 0, NULL},
    {BYTES("\x00\x00\x00\x00\x01\x00"
           "a{}"),
     0, NULL},
    {BYTES("\x01\x00\x00\x00"), 1, "invalid_arguments"},
    {BYTES("\x01\x00\x00\x00\x00"), 1, "invalid_arguments"},
    {BYTES("\x01\x00\x00\x00\x02\x00"
           "a"),
     1, "invalid_arguments"},
    {BYTES("\x01\x00\x00\x00\xff\xff"
           "a{}"),
     1, "invalid_arguments"},
    {BYTES("\x01\x00\x00\x00\x00\x00{}"), 1, "unknown_tool"},
    {BYTES("\xff\xff\xff\xff\x01\x00\xff{}"), UINT32_MAX, "unknown_tool"},
    {BYTES("\x01\x00\x00\x00\x01\x00\x00{}"), 1, "unknown_tool"},
    {BYTES("\x01\x00\x00\x00\x01\x00\n{}"), 1, "unknown_tool"},
    {BYTES("\x01\x00\x00\x00\x01\x00\x7f{}"), 1, "unknown_tool"},
    {BYTES("\x01\x00\x00\x00\x02\x00\xC3\xC3{}"), 1, "unknown_tool"},
    {BYTES("\x01\x00\x00\x00\x01\x00"
           "a123456789"),
     1, "limit_exceeded"},
};

START_TEST(refuses_what_is_no_call)
{
    struct tool_call_frame call;
    struct tool_refusal refusal;
    ck_assert(!tool_call_frame_read((const unsigned char *)refused[_i].payload, refused[_i].length,
                                    ARGUMENTS_LIMIT, &call, &refusal));
    ck_assert_uint_eq(call.number, refused[_i].number);
    if (refused[_i].code)
        ck_assert_str_eq(tool_error_name(refusal.code), refused[_i].code);
}
END_TEST

START_TEST(bounds_a_name)
{
    for (size_t more = 0; more < 2; more++) {
        unsigned char payload[TOOL_CALL_HEADER + TOOL_NAME_LIMIT + 1] = {1};
        struct tool_call_frame call;
        struct tool_refusal refusal;
        payload[4] = (unsigned char)(TOOL_NAME_LIMIT + more);
        memset(payload + TOOL_CALL_HEADER, 'n', TOOL_NAME_LIMIT + 1);
        ck_assert_int_eq(tool_call_frame_read(payload, TOOL_CALL_HEADER + TOOL_NAME_LIMIT + more,
                                              ARGUMENTS_LIMIT, &call, &refusal),
                         more == 0);
    }
    ck_assert_uint_eq(tool_call_frame_limit(ARGUMENTS_LIMIT), 6 + 128 + 8);
}
END_TEST

START_TEST(writes_the_header_of_an_answer)
{
    static const unsigned char whole[TOOL_ANSWER_HEADER] = {0x06, 0x01, 0, 0,    2,
                                                            0x04, 0x03, 2, 0x81, 3};
    struct tool_answer answer = {.form = TOOL_ANSWER_BYTES, .length = 0x101};
    unsigned char header[TOOL_ANSWER_HEADER];
    tool_answer_frame_header(0x81020304, &answer, header);
    ck_assert_mem_eq(header, whole, sizeof(whole));
}
END_TEST

START_TEST(writes_the_tools)
{
    static const char text[] =
        "[{\"name\":\"a.b\",\"identifier\":\"a_b\",\"title\":\"T\",\"description\":\"D\","
        "\"input_schema\":{\"z\":1.5,\"a\":1},\"output_schema\":{}},"
        "{\"name\":\"c\",\"identifier\":\"c\",\"input_schema\":{}}]";
    struct error error;
    struct json_place place = json_place_root("context", ERROR_INVALID_INPUT, &error);
    CLEANUP(tool_list_clear) struct tool_list all = {0};
    CLEANUP(tool_list_clear) struct tool_list chosen = {0};
    char *patterns[] = {(char[]){"*"}, NULL};
    json_auto_t *json = json_loads(
        "[{\"name\":\"a.b\",\"title\":\"T\",\"description\":\"D\",\"annotations\":{},\"approval\":"
        "\"never\",\"input_schema\":{\"z\":1.5,\"a\":1},\"output_schema\":{}},"
        "{\"name\":\"c\",\"input_schema\":{}}]",
        0, NULL);
    size_t length = 0;
    ck_assert_msg(tool_list_read(&place, json, &all), "%s", error.message);
    ck_assert(tool_list_select(&all, patterns, NULL, &chosen, &error));
    CLEANUP_FREE unsigned char *frame = tool_list_frame(&chosen, 0x0102, &length);
    ck_assert_ptr_nonnull(frame);
    ck_assert_uint_eq(length, 5 + 4 + strlen(text));
    ck_assert_uint_eq(frame[0], 4 + strlen(text));
    ck_assert_uint_eq(frame[4], 1);
    ck_assert_mem_eq(frame + 5, "\x02\x01\0\0", 4);
    ck_assert_mem_eq(frame + 5 + 4, text, strlen(text));
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("calls"), tcase_create("replies")};
    tcase_add_test(cases[0], reads_a_call);
    tcase_add_loop_test(cases[0], refuses_what_is_no_call, 0, COUNT_OF(refused));
    tcase_add_test(cases[0], bounds_a_name);
    tcase_add_test(cases[1], writes_the_header_of_an_answer);
    tcase_add_test(cases[1], writes_the_tools);
    return run_suite("tool_frames", cases, COUNT_OF(cases));
}
