/* SPDX-License-Identifier: Apache-2.0 */
/* Units of what toolhost mcp reads and where it listens, which need no process: lines, messages,
 * handshakes, text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "mcp/wire/json_rpc.h"
#include "mcp/wire/line_reader.h"
#include "mcp/wire/listener.h"
#include "mcp/wire/session_revision.h"
#include "tap_suite.h"

static void next_is(struct line_reader *reader, enum line_event event, const char *expected)
{
    const char *line = NULL;
    size_t length = 0;
    ck_assert_int_eq(line_reader_next(reader, &line, &length), event);
    if (event != LINE_READY && event != LINE_SKIPPED)
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

START_TEST(the_end_of_a_line_that_is_too_long_is_told_where_it_is_wanted)
{
    CLEANUP(line_reader_clear) struct line_reader reader = {.limit = 4, .tells_end = true};
    add(&reader, "12345");
    next_is(&reader, LINE_TOO_LONG, NULL);
    for (int i = 0; i < 100000; i++) {
        add(&reader, "xxxxxxxxxxxxxxxx");
        next_is(&reader, LINE_NONE, NULL);
    }
    ck_assert_uint_lt(reader.capacity, 100000);
    add(&reader, "the end\nabc\n12345\nabc\n");
    const char *line = NULL;
    size_t length = 0;
    ck_assert_int_eq(line_reader_next(&reader, &line, &length), LINE_SKIPPED);
    ck_assert_uint_ge(length, LINE_END_KEPT);
    ck_assert_mem_eq(line + length - 7, "the end", 7);
    next_is(&reader, LINE_READY, "abc");
    next_is(&reader, LINE_TOO_LONG, NULL);
    next_is(&reader, LINE_READY, "abc");
    next_is(&reader, LINE_NONE, NULL);
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
        json_auto_t *message = json_loads(cases[i].text, JSON_ALLOW_NUL, NULL);
        ck_assert_ptr_nonnull(message);
        struct rpc_message read = rpc_read(message);
        ck_assert_msg(read.kind == cases[i].kind, "%s", cases[i].text);
        ck_assert_msg((read.id != NULL) == cases[i].has_id, "%s", cases[i].text);
    }
}
END_TEST

/* As it is answered: "code id". */
static void refused_as(const char *line, size_t length, const char *expected)
{
    struct incoming_problem problem;
    ck_assert_ptr_null(incoming_read(line, length, &problem));
    json_auto_t *id = problem.id;
    CLEANUP_FREE char *text = id ? json_dumps(id, JSON_ENCODE_ANY) : strdup("none");
    char found[64];
    (void)snprintf(found, sizeof(found), "%d %s", problem.code, text);
    ck_assert_str_eq(found, expected);
    ck_assert_str_ne(problem.message, "");
}

START_TEST(what_cannot_be_read_is_refused_under_its_own_identifier)
{
    static const struct {
        const char *line, *expected;
    } cases[] = {
        {"{\"id\":7,\"method\":\"\\ud83d\"}", "-32700 7"},
        {"{ \"method\" : \"\\ud83d\" , \"id\" : \"a\\\"}\" }", "-32700 \"a\\\"}\""},
        {"{\"method\":[\"id\",\"\\ud83d\"],\"id\":-1}", "-32700 -1"},
        {"{\"id\":1,\"method\":123456789012345678901}", "-32700 1"},
        {"{\"id\":1,\"method\":2,\"method\":3}", "-32700 1"},
        {"{\"id\":1,\"id\":1,\"method\":2}", "-32700 none"},
        {"{\"id\":123456789012345678901,\"method\":2}", "-32700 none"},
        {"{\"id\":{},\"method\":\"\\ud83d\"}", "-32700 none"},
        {"{\"id\":1,\"result\":\"\\ud83d\"}", "-32700 none"},
        {"{\"params\":{\"id\":1},\"method\":\"\\ud83d\"}", "-32700 none"},
        {"{\"x\":\"id\",\"method\":\"\\ud83d\"}", "-32700 none"},
        {"{\"id\":1,\"method\":\"tools/", "-32700 none"},
        {"{\"method\":2,\"id\"", "-32700 none"},
        {"{\"method\":2,\"id\":", "-32700 none"},
        {"{\"method\":2,\"id\":\"\\", "-32700 none"},
        {"}}]]", "-32700 none"},
        {"\xff", "-32700 none"},
        {"", "-32700 none"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        refused_as(cases[i].line, strlen(cases[i].line), cases[i].expected);
}
END_TEST

START_TEST(a_line_has_so_many_values_and_no_more)
{
    static const char begin[] = "{\"method\":\"x\",\"id\":1,\"x\":[";
    size_t most = INCOMING_VALUES - 4; /* the members of the object, and it */
    CLEANUP_FREE char *line = malloc(sizeof(begin) + 2 * INCOMING_VALUES + 2);
    ck_assert_ptr_nonnull(line);
    for (size_t count = most; count <= most + 1; count++) {
        char *at = stpcpy(line, begin);
        for (size_t i = 0; i < count; i++)
            at = stpcpy(at, i == 0 ? "0" : ",0");
        at = stpcpy(at, "]}");
        struct incoming_problem problem;
        json_auto_t *read = incoming_read(line, (size_t)(at - line), &problem);
        ck_assert(json_is_object(read) == (count == most));
        if (!read)
            refused_as(line, (size_t)(at - line), "-32600 1");
        json_decref(problem.id);
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
        json_auto_t *params = json_pack("{s:s, s:o}", "protocolVersion", "2025-11-25",
                                        "capabilities", json_loads(cases[i].capabilities, 0, NULL));
        CLEANUP(session_clear) struct session_revision session;
        session_read_handshake(params, &session);
        ck_assert_msg(session.elicitation == cases[i].form, "%s", cases[i].capabilities);
    }
}
END_TEST

static const char *listened_path; /* where nobody listens yet */

int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog)
{
    ck_assert_int_ne(access(listened_path, F_OK), 0);
    return __real_listen(fd, backlog);
}

START_TEST(a_socket_appears_when_somebody_listens_and_takes_no_place)
{
    char folder[] = "/tmp/toolhost-listener-XXXXXX", path[64], other[64];
    struct failure failure;
    struct stat status;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/socket", folder);
    (void)snprintf(other, sizeof(other), "%s/file", folder);
    listened_path = path;
    CLEANUP(listener_close) struct listener listener = {.fd = -1}, second = {.fd = -1};
    ck_assert(listener_open(path, &listener, &failure));
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq(status.st_mode, S_IFSOCK | 0600);
    listened_path = other;
    ck_assert(!listener_open(path, &second, &failure));
    CLEANUP_FILE FILE *file = fopen(other, "w");
    ck_assert_ptr_nonnull(file);
    listened_path = "/nowhere";
    ck_assert(!listener_open(other, &second, &failure));
    ck_assert_int_eq(stat(other, &status), 0);
    ck_assert(S_ISREG(status.st_mode));
    listener_close(&listener);
    ck_assert_int_eq(unlink(other), 0);
    ck_assert_int_eq(rmdir(folder), 0); /* nothing else is left in it */
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
        size_t length = 0;
        bool replaced = false;
        CLEANUP_FREE char *text = utf8_sanitize((const unsigned char *)cases[i].bytes,
                                                strlen(cases[i].bytes), &length, &replaced);
        ck_assert_str_eq(text, cases[i].text);
    }
    static const unsigned char cut[] = "a\u00fc\U0001f600";
    static const size_t whole[] = {0, 1, 1, 3, 3, 3, 3, 7};
    for (size_t i = 0; i < COUNT_OF(whole); i++)
        ck_assert_uint_eq(utf8_whole_prefix(cut, i), whole[i]);
    ck_assert_uint_eq(utf8_whole_prefix((const unsigned char *)"a\xff", 2), 2);
    ck_assert_uint_eq(utf8_whole_prefix((const unsigned char *)"\x80\x80\x80\x80", 4), 4);
    char hash[65];
    sha256_hex("abc", 3, hash);
    ck_assert_str_eq(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
END_TEST

int main(void)
{
    TCase *units = tcase_create("wire");
    tcase_add_test(units, lines_come_whole_whatever_the_pieces);
    tcase_add_test(units, lines_that_are_too_long_are_told_once_and_skipped);
    tcase_add_test(units, the_end_of_a_line_that_is_too_long_is_told_where_it_is_wanted);
    tcase_add_test(units, messages_are_told_apart);
    tcase_add_test(units, what_cannot_be_read_is_refused_under_its_own_identifier);
    tcase_add_test(units, a_line_has_so_many_values_and_no_more);
    tcase_add_test(units, forms_are_offered_only_to_clients_that_show_them);
    tcase_add_test(units, a_socket_appears_when_somebody_listens_and_takes_no_place);
    tcase_add_test(units, bytes_become_text);
    return run_suite("mcp wire", &units, 1);
}
