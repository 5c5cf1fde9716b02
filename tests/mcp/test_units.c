/* SPDX-License-Identifier: Apache-2.0 */
/* Units of toolhost mcp that need no process: lines, messages, terms, the state a client carries.
 */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "mcp/json_rpc.h"
#include "mcp/line_reader.h"
#include "mcp/request_state.h"
#include "mcp/rounds.h"
#include "mcp/terms.h"
#include "mcp/text.h"
#include "tap_suite.h"

static void next_is(struct line_reader *reader, enum line_event event, const char *expected)
{
    const char *line = NULL;
    size_t length = 0;
    ck_assert_int_eq(line_reader_next(reader, &line, &length), event);
    if (event != LINE_READY)
        return;
    ck_assert_uint_eq(length, strlen(expected));
    ck_assert_mem_eq(line, expected, length);
}

static void add(struct line_reader *reader, const char *text)
{
    ck_assert(line_reader_add(reader, text, strlen(text)));
}

START_TEST(lines_come_whole_whatever_the_pieces)
{
    static const char text[] = "one\n\ntwo\nthree";
    for (size_t piece = 1; piece <= sizeof(text); piece++) {
        CLEANUP(line_reader_clear) struct line_reader reader = {.limit = 5};
        const char *const expected[] = {"one", "", "two"};
        size_t seen = 0;
        for (size_t i = 0; i < strlen(text); i += piece) {
            size_t left = strlen(text) - i;
            ck_assert(line_reader_add(&reader, text + i, left < piece ? left : piece));
            const char *line = NULL;
            size_t length = 0;
            while (line_reader_next(&reader, &line, &length) == LINE_READY) {
                ck_assert_uint_lt(seen, 3);
                ck_assert_uint_eq(length, strlen(expected[seen]));
                ck_assert_mem_eq(line, expected[seen], length);
                seen++;
            }
        }
        ck_assert_uint_eq(seen, 3);
        add(&reader, "\n");
        next_is(&reader, LINE_READY, "three");
    }
}
END_TEST

START_TEST(lines_that_are_too_long_are_told_once_and_skipped)
{
    CLEANUP(line_reader_clear) struct line_reader reader = {.limit = 4};
    add(&reader, "1234\n12345\nabc\n");
    next_is(&reader, LINE_READY, "1234");
    next_is(&reader, LINE_TOO_LONG, NULL);
    next_is(&reader, LINE_READY, "abc");
    add(&reader, "12345");
    next_is(&reader, LINE_TOO_LONG, NULL);
    for (int i = 0; i < 100000; i++) {
        add(&reader, "xxxxxxxxxxxxxxxx");
        next_is(&reader, LINE_NONE, NULL);
    }
    ck_assert_uint_lt(reader.capacity, 100000);
    add(&reader, "\nabc\n");
    next_is(&reader, LINE_READY, "abc");
    next_is(&reader, LINE_NONE, NULL);
}
END_TEST

/* RFC 4231 does not use a key of 32 bytes; this code is from Python:
 * hmac.new(bytes(range(32)), b"N.H.12345\0root\0call\0", "sha256") with N = "n"*32, H = "h"*64. */
static const char known_code[] = "72cee48a67bd24b4d9eee4fb32703f087fc671f41a9773a93b9217b189b4714c";

static void fill(char *text, char letter, size_t length)
{
    memset(text, letter, length);
    text[length] = '\0';
}

START_TEST(state_is_authenticated)
{
    unsigned char key[REQUEST_STATE_KEY];
    char nonce[REQUEST_STATE_NONCE + 1], hash[65], text[REQUEST_STATE_LIMIT], found[33];
    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (unsigned char)i;
    fill(nonce, 'n', REQUEST_STATE_NONCE);
    fill(hash, 'h', 64);
    const struct request_state_subject subject = {nonce, hash, "root", "call", 12345};
    request_state_make(key, &subject, text);
    ck_assert_str_eq(strrchr(text, '.') + 1, known_code);
    ck_assert_int_eq(request_state_check(key, text, "root", "call", 12344, found),
                     REQUEST_STATE_GOOD);
    ck_assert_str_eq(found, nonce);
    ck_assert_int_eq(request_state_check(key, text, "root", "call", 12345, found),
                     REQUEST_STATE_EXPIRED);
    ck_assert_int_eq(request_state_check(key, text, "toor", "call", 0, found),
                     REQUEST_STATE_FORGED);
    ck_assert_int_eq(request_state_check(key, text, "root", "other", 0, found),
                     REQUEST_STATE_FORGED);
    ck_assert_int_eq(request_state_check(key, text, "rootc", "all", 0, found),
                     REQUEST_STATE_FORGED);
    for (size_t i = 0; i < strlen(text); i++) {
        char changed[REQUEST_STATE_LIMIT];
        memcpy(changed, text, sizeof(changed));
        changed[i] ^= 1;
        ck_assert_int_eq(request_state_check(key, changed, "root", "call", 0, found),
                         REQUEST_STATE_FORGED);
        memcpy(changed, text, sizeof(changed));
        changed[i] = '\0';
        ck_assert_int_eq(request_state_check(key, changed, "root", "call", 0, found),
                         REQUEST_STATE_FORGED);
    }
    key[0] ^= 1;
    ck_assert_int_eq(request_state_check(key, text, "root", "call", 0, found),
                     REQUEST_STATE_FORGED);
}
END_TEST

START_TEST(rounds_are_bounded_and_serve_once)
{
    struct failure failure;
    CLEANUP(rounds_clear) struct rounds rounds;
    char hash[65], first[REQUEST_STATE_LIMIT], second[REQUEST_STATE_LIMIT];
    enum request_state_verdict verdict = REQUEST_STATE_FORGED;
    ck_assert(rounds_init(&rounds, &failure));
    fill(hash, 'a', 64);
    ck_assert(rounds_open(&rounds, hash, "root", 7, 60000, "shown"));
    ck_assert_ptr_null(rounds_find(&rounds, hash, "other"));
    struct round *round = rounds_find(&rounds, hash, "root");
    ck_assert_ptr_nonnull(round);
    ck_assert(rounds_make_state(&rounds, round, "call", first));
    ck_assert_ptr_eq(rounds_of_state(&rounds, first, "root", "call", &verdict), round);
    ck_assert(rounds_make_state(&rounds, round, "call", second));
    ck_assert_ptr_null(rounds_of_state(&rounds, first, "root", "call", &verdict));
    ck_assert_int_eq(verdict, REQUEST_STATE_EXPIRED);
    ck_assert_ptr_null(rounds_of_state(&rounds, second, "other", "call", &verdict));
    ck_assert_int_eq(verdict, REQUEST_STATE_FORGED);
    rounds_close(&rounds, round);
    ck_assert_ptr_null(rounds_of_state(&rounds, second, "root", "call", &verdict));
    ck_assert_int_eq(verdict, REQUEST_STATE_EXPIRED);
    for (unsigned i = 0; i < ROUNDS_LIMIT; i++)
        ck_assert(rounds_open(&rounds, hash, "root", i, 60000, "shown"));
    ck_assert(!rounds_open(&rounds, hash, "root", 7, 60000, "shown"));
}
END_TEST

START_TEST(messages_are_told_apart)
{
    static const struct {
        const char *text;
        enum rpc_kind kind;
        bool has_id;
    } cases[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", RPC_REQUEST, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"x\",\"params\":{}}", RPC_REQUEST, true},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", RPC_NOTIFICATION, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", RPC_RESPONSE, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", RPC_RESPONSE, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}", RPC_INVALID, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", RPC_INVALID, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}", RPC_INVALID, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\\u0000\"}", RPC_INVALID, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":7}", RPC_INVALID, true},
        {"{\"id\":1,\"method\":\"x\"}", RPC_INVALID, true},
        {"[]", RPC_INVALID, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP_JSON json_t *message = json_loads(cases[i].text, JSON_ALLOW_NUL, NULL);
        ck_assert_ptr_nonnull(message);
        struct rpc_message read = rpc_read(message);
        ck_assert_msg(read.kind == cases[i].kind, "%s", cases[i].text);
        ck_assert_msg((read.id != NULL) == cases[i].has_id, "%s", cases[i].text);
    }
}
END_TEST

START_TEST(forms_are_offered_only_to_clients_that_show_them)
{
    static const struct {
        const char *capabilities;
        bool form;
    } cases[] = {
        {"{\"elicitation\":{}}", true},
        {"{\"elicitation\":{\"form\":{}}}", true},
        {"{\"elicitation\":{\"url\":{}}}", false},
        {"{\"elicitation\":true}", false},
        {"{\"elicitation\":[]}", false},
        {"{}", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP_JSON json_t *params =
            json_pack("{s:s, s:o}", "protocolVersion", "2025-11-25", "capabilities",
                      json_loads(cases[i].capabilities, 0, NULL));
        CLEANUP(terms_clear) struct terms terms;
        terms_read_handshake(params, &terms);
        ck_assert_msg(terms.elicitation == cases[i].form, "%s", cases[i].capabilities);
    }
}
END_TEST

START_TEST(bytes_become_text)
{
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        {"gr\u00fcn \u4f60 \U0001f600", "gr\u00fcn \u4f60 \U0001f600"},
        {"a\xff\xc3", "a\ufffd\ufffd"},
        {"\xc0\x80\xed\xa0\x80", "\ufffd\ufffd\ufffd\ufffd\ufffd"},
        {"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},
        {"\xe0\x80\x80", "\ufffd\ufffd\ufffd"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP_JSON json_t *text = text_to_json(cases[i].bytes, strlen(cases[i].bytes));
        ck_assert_str_eq(json_string_value(text), cases[i].text);
    }
    static const char cut[] = "a\u00fc\U0001f600";
    static const size_t whole[] = {0, 1, 1, 3, 3, 3, 3, 7};
    for (size_t i = 0; i < COUNT_OF(whole); i++)
        ck_assert_uint_eq(text_length_of_whole(cut, i), whole[i]);
    ck_assert_uint_eq(text_length_of_whole("a\xff", 2), 2);
    ck_assert_uint_eq(text_length_of_whole("\x80\x80\x80\x80", 4), 4);
    char hash[65];
    text_sha256("abc", 3, hash);
    ck_assert_str_eq(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
END_TEST

int main(void)
{
    TCase *units = tcase_create("units");
    tcase_add_test(units, lines_come_whole_whatever_the_pieces);
    tcase_add_test(units, lines_that_are_too_long_are_told_once_and_skipped);
    tcase_add_test(units, state_is_authenticated);
    tcase_add_test(units, rounds_are_bounded_and_serve_once);
    tcase_add_test(units, messages_are_told_apart);
    tcase_add_test(units, forms_are_offered_only_to_clients_that_show_them);
    tcase_add_test(units, bytes_become_text);
    return run_suite("mcp", &units, 1);
}
