/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine and a container say: frames, heads, the bootstrap's report, facts, endings. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/random.h"
#include "backends/docker/container/attached_stream.h"
#include "backends/docker/container/bootstrap.h"
#include "backends/docker/container/container_end.h"
#include "backends/docker/engine/engine_facts.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define LIST(...)     ((char **)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL})
#define TEXT(literal) ((char *)(uintptr_t)(literal))

/* Feeds in parts of that size; the streams' bytes end up in out and err. false: refused. */
static bool feed_frames(const unsigned char *bytes, size_t length, size_t part, char *out,
                        char *err)
{
    struct frame_reader reader = {.left = 0};
    char *ends[] = {out, out, err};
    for (size_t begin = 0; begin < length;) {
        size_t count = length - begin < part ? length - begin : part;
        struct frame_piece piece;
        ptrdiff_t taken = frame_reader_next(&reader, bytes + begin, count, &piece);
        if (taken < 0)
            return false;
        ck_assert(taken > 0 && (size_t)taken <= count);
        if (piece.length)
            ends[piece.stream] = mempcpy(ends[piece.stream], piece.bytes, piece.length);
        begin += (size_t)taken;
    }
    *ends[1] = *ends[2] = '\0';
    return frame_reader_at_boundary(&reader);
}

START_TEST(frames_in_parts_of_any_size)
{
    static const unsigned char bytes[] = "\1\0\0\0\0\0\0\3abc\2\0\0\0\0\0\0\2xy\1\0\0\0\0\0\0\0"
                                         "\1\0\0\0\0\0\0\1d";
    for (size_t part = 1; part <= sizeof(bytes); part++) {
        char out[64];
        char err[64];
        ck_assert(feed_frames(bytes, sizeof(bytes) - 1, part, out, err));
        ck_assert_str_eq(out, "abcd");
        ck_assert_str_eq(err, "xy");
        ck_assert(!feed_frames(bytes, sizeof(bytes) - 2, part, out, err));
    }
}
END_TEST

START_TEST(an_invalid_frame_is_refused)
{
    static const char *const heads[] = {"\3\0\0\0\0\0\0\1", "\1\1\0\0\0\0\0\1", "\1\0\0\1\0\0\0\1",
                                        "\1\0\0\0\2\0\0\0", "HTTP/1.1"};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        char out[64];
        char err[64];
        ck_assert(!feed_frames((const unsigned char *)heads[i], 8, 8, out, err));
    }
}
END_TEST

/* Random bytes, random cuts: never beyond the input, always an end (run under sanitizers). */
START_TEST(random_bytes_do_no_harm)
{
    uint64_t state = 3;
    for (int round = 0; round < 100000; round++) {
        unsigned char bytes[64];
        struct frame_reader frames = {.left = 0};
        struct http_head head = {.length = 0};
        struct bootstrap_reader report = {.length = 0};
        struct frame_piece piece;
        size_t taken = 0;
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (unsigned char)(random_next(&state) >> (round % 2 ? 58 : 20));
        ptrdiff_t count = frame_reader_next(&frames, bytes, sizeof(bytes), &piece);
        ck_assert(count <= (ptrdiff_t)sizeof(bytes));
        (void)http_head_feed(&head, bytes, sizeof(bytes), &taken);
        ck_assert_uint_le(taken, sizeof(bytes));
        (void)bootstrap_read(&report, bytes, sizeof(bytes), &taken);
        ck_assert_uint_le(taken, sizeof(bytes));
    }
}
END_TEST

static enum http_head_state feed_head(const char *text, int *ret_status, size_t *ret_taken)
{
    struct http_head head = {.length = 0};
    enum http_head_state state =
        http_head_feed(&head, (const unsigned char *)text, strlen(text), ret_taken);
    *ret_status = head.status;
    return state;
}

START_TEST(heads)
{
    static const struct {
        const char *text;
        enum http_head_state state;
        int status;
        size_t rest;
    } cases[] = {
        {"HTTP/1.1 101 UPGRADED\r\nA: b\r\n\r\nrest", HTTP_HEAD_WHOLE, 101, 4},
        {"HTTP/1.1 200 OK\n\n", HTTP_HEAD_WHOLE, 200, 0},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 x\r\n\r\n", HTTP_HEAD_WHOLE, 101, 0},
        {"HTTP/1.1 404 Not Found\r\n\r\n", HTTP_HEAD_WHOLE, 404, 0},
        {"HTTP/1.1 101", HTTP_HEAD_MORE, 0, 0},
        {"HTTP/2 101 x\r\n", HTTP_HEAD_BROKEN, 0, 0},
        {"\1\0\0\0\n", HTTP_HEAD_MORE, 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int status;
        size_t taken = 0;
        ck_assert_int_eq(feed_head(cases[i].text, &status, &taken), cases[i].state);
        ck_assert_int_eq(status, cases[i].status);
        ck_assert_uint_eq(strlen(cases[i].text) - taken, cases[i].rest);
    }
}
END_TEST

START_TEST(endless_heads_end)
{
    static char text[HTTP_HEAD_LIMIT + 100];
    int status;
    size_t taken;
    memset(text, 'a', sizeof(text) - 1);
    memcpy(text, "HTTP/1.1 101 x\r\n", 16);
    ck_assert_int_eq(feed_head(text, &status, &taken), HTTP_HEAD_BROKEN);
    text[0] = '\0';
    for (int i = 0; i < 20; i++)
        (void)strcat(text, "HTTP/1.1 102 x\r\n\r\n");
    ck_assert_int_eq(feed_head(text, &status, &taken), HTTP_HEAD_BROKEN);
}
END_TEST

#define GOOD_REPORT                                                                            \
    "=CapInh: 0000\n=CapPrm: 0000\n=CapEff: 0000\n=CapBnd: 0000\n=CapAmb: 0000\n=Uid: 65534\t" \
    "65534\t65534\t65534\n=NoNewPrivs: 1\n=Seccomp: 2\n=Waits: 1\n"

static enum bootstrap_state read_report(const char *text, uint32_t *ret_facts, size_t *ret_taken)
{
    struct bootstrap_reader reader = {.length = 0};
    enum bootstrap_state state =
        bootstrap_read(&reader, (const unsigned char *)text, strlen(text), ret_taken);
    *ret_facts = reader.facts;
    return state;
}

START_TEST(reports)
{
    static const char *const lies[] = {"=CapBnd: 00000000a80425fb\n+\n",
                                       "=Uid: 0 0 0 0\n+\n",
                                       "=Uid: 1 1 1 0\n+\n",
                                       "=Seccomp: 1\n+\n",
                                       "=NoNewPrivs: 0\n+\n",
                                       "+\n"};
    uint32_t facts;
    size_t taken;
    ck_assert_int_eq(read_report(GOOD_REPORT "+\nprogram", &facts, &taken), BOOTSTRAP_READY);
    ck_assert_uint_eq(facts, BOOTSTRAP_FACTS_ALL);
    ck_assert_uint_eq(taken, strlen(GOOD_REPORT) + 2);
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        ck_assert_int_eq(read_report(lies[i], &facts, &taken), BOOTSTRAP_READY);
        ck_assert_uint_eq(facts, 0);
    }
    ck_assert_int_eq(read_report("?\n", &facts, &taken), BOOTSTRAP_MISSING);
    ck_assert_int_eq(read_report("-no space\n", &facts, &taken), BOOTSTRAP_FAILED);
    ck_assert_int_eq(read_report("hello\n", &facts, &taken), BOOTSTRAP_FAILED);
    ck_assert_int_eq(read_report("=Uid", &facts, &taken), BOOTSTRAP_MORE);
}
END_TEST

START_TEST(errors_before_the_program_are_its_bootstraps)
{
    static const char text[] = "dd: no\n++\n+\nprogram";
    for (size_t part = 1; part < sizeof(text); part++) {
        struct bootstrap_reader reader = {.length = 0};
        size_t begin = 0;
        enum bootstrap_state state = BOOTSTRAP_MORE;
        while (state == BOOTSTRAP_MORE) {
            size_t left = sizeof(text) - 1 - begin;
            size_t taken = 0;
            ck_assert_uint_gt(left, 0);
            state = bootstrap_read_errors(&reader, (const unsigned char *)text + begin,
                                          left < part ? left : part, &taken);
            begin += taken;
        }
        ck_assert_str_eq(text + begin, "program");
        ck_assert_str_eq(reader.detail, "dd: no+++");
    }
}
END_TEST

START_TEST(engines_are_judged)
{
    static const struct {
        const char *newest;
        const char *oldest;
        unsigned int api; /* 0: refused */
    } versions[] = {{"1.41", "1.12", 41}, {"1.52", "1.44", 44}, {"1.60", "1.50", 50},
                    {"1.40", "1.12", 0},  {"2.0", "1.1", 0},    {"1.x", "1.1", 0}};
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        struct engine_facts facts = {.api = 0};
        struct engine_fault fault;
        json_auto_t *json = json_pack("{s:s, s:s}", "ApiVersion", versions[i].newest,
                                      "MinAPIVersion", versions[i].oldest);
        ck_assert(engine_facts_of_version(json, &facts, &fault) == (versions[i].api != 0));
        ck_assert_uint_eq(facts.api, versions[i].api);
    }
    ck_assert(engine_image_name_is_good("python:3.11-slim"));
    ck_assert(!engine_image_name_is_good("a/../b"));
    ck_assert(!engine_image_name_is_good("a?b"));
    ck_assert(!engine_image_name_is_good("a\r\nb"));
    ck_assert(!engine_image_is_pinned("python:3.11-slim"));
    ck_assert(engine_image_is_pinned(
        "a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"));
}
END_TEST

START_TEST(endings)
{
    static const struct {
        struct container_end end;
        enum run_cause cause;
        int exit_code;
        int signal;
    } cases[] = {
        {{0, false}, RUN_CAUSE_EXIT, 0, 0},
        {{7, false}, RUN_CAUSE_EXIT, 7, 0},
        {{130, false}, RUN_CAUSE_EXIT, 130, 0},
        {{137, false}, RUN_CAUSE_SIGNAL, -1, SIGKILL},
        {{137, true}, RUN_CAUSE_MEMORY_LIMIT, -1, SIGKILL},
        {{1, true}, RUN_CAUSE_MEMORY_LIMIT, 1, 0},
        {{0, true}, RUN_CAUSE_EXIT, 0, 0},
        {{152, false}, RUN_CAUSE_CPU_LIMIT, -1, SIGXCPU},
        {{153, false}, RUN_CAUSE_FILE_LIMIT, -1, SIGXFSZ},
        {{159, false}, RUN_CAUSE_FORBIDDEN_SYSCALL, -1, SIGSYS},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct run_event event = {.type = RUN_EVENT_ENDED};
        container_cause_decide(&cases[i].end, &event);
        ck_assert_uint_eq(event.cause, cases[i].cause);
        ck_assert_int_eq(event.exit_code, cases[i].exit_code);
        ck_assert_int_eq(event.signal, cases[i].signal);
    }
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("docker stream");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, frames_in_parts_of_any_size);
    tcase_add_test(cases, an_invalid_frame_is_refused);
    tcase_add_test(cases, random_bytes_do_no_harm);
    tcase_add_test(cases, heads);
    tcase_add_test(cases, endless_heads_end);
    tcase_add_test(cases, reports);
    tcase_add_test(cases, errors_before_the_program_are_its_bootstraps);
    tcase_add_test(cases, engines_are_judged);
    tcase_add_test(cases, endings);
    return run_suite("docker stream", &cases, 1);
}
