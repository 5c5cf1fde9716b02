/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine and a container say: frames, heads, the guest's report, facts, endings. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/random.h"
#include "backends/docker/container/attached_stream.h"
#include "backends/docker/engine/engine_facts.h"
#include "backends/guest_runs/container/container_end.h"
#include "backends/guest_runs/container/guest_stream.h"
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
        struct guest_reader guest = {.left = 0};
        struct guest_piece said;
        struct frame_piece piece;
        size_t taken = 0;
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (unsigned char)(random_next(&state) >> (round % 2 ? 58 : 20));
        ptrdiff_t count = frame_reader_next(&frames, bytes, sizeof(bytes), &piece);
        ck_assert(count <= (ptrdiff_t)sizeof(bytes));
        (void)http_head_feed(&head, bytes, sizeof(bytes), &taken);
        ck_assert_uint_le(taken, sizeof(bytes));
        ck_assert(guest_reader_next(&guest, bytes, sizeof(bytes), &said) <=
                  (ptrdiff_t)sizeof(bytes));
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

#define CAPABILITIES "CapInh:\t0000\nCapPrm:\t0000\nCapEff:\t0000\nCapBnd:\t0000\nCapAmb:\t0000\n"
#define USER         "Uid:\t65534\t65534\t65534\t65534\n"

static uint32_t facts_of(const char *report)
{
    return guest_facts_read((const unsigned char *)report, strlen(report));
}

START_TEST(facts_are_compared_exactly)
{
    static const char good[] = "Name:\tguest\n" USER CAPABILITIES "NoNewPrivs:\t1\nSeccomp:\t2\n";
    static const char *const lies[] = {"CapBnd:\t00000000a80425fb\n",
                                       "CapBnd:\t\n",
                                       "CapBnd: 0000\n",
                                       "Uid:\t0\t0\t0\t0\n",
                                       "Uid:\t1\t1\t1\t0\n",
                                       "Uid:\t1\t1\t1\n",
                                       "Uid:\t1\t1\t1\t1\t1\n",
                                       "Uid:\t1\t1\t1\tx\n",
                                       "Seccomp:\t1\n",
                                       "Seccomp:\t20\n",
                                       "NoNewPrivs:\t0\n",
                                       "NoNewPrivs:\t1",
                                       "Seccomp_filters:\t2\n",
                                       "\n",
                                       ""};
    ck_assert_uint_eq(facts_of(good), GUEST_FACTS_ALL);
    ck_assert_uint_eq(facts_of(USER), GUEST_FACT_BIT(GUEST_FACT_ORDINARY_USER));
    for (size_t i = 0; i < COUNT_OF(lies); i++)
        ck_assert_msg(facts_of(lies[i]) == 0, "%s", lies[i]);
}
END_TEST

START_TEST(gvisor_takes_no_filter_from_an_engine)
{
    static const char rest[] = "Name:\tguest\n" USER CAPABILITIES "NoNewPrivs:\t1\n";
    static const struct {
        const char *lines;
        bool suffices;
        bool is_gvisor;
    } cases[] = {{"Seccomp:\t2\n", true, false},
                 {"Seccomp:\t2\nKernel:\tLinux\n", true, false},
                 {"Seccomp:\t0\nKernel:\tLinux\n", false, false},
                 {"Seccomp:\t0\n", false, false},
                 {"Seccomp:\t0\nKernel:\tgVisor\n", true, true},
                 {"Seccomp:\t2\nKernel:\tgVisor\n", true, true},
                 {"Seccomp:\t0\nKernel:\tgVisor 2\n", false, false},
                 {"Seccomp:\t0\nName:\tKernel:\tgVisor\n", false, false}};
    char report[512];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        (void)snprintf(report, sizeof(report), "%s%s", rest, cases[i].lines);
        uint32_t facts = facts_of(report);
        ck_assert_int_eq(guest_facts_suffice(facts), cases[i].suffices);
        ck_assert_int_eq((facts & GUEST_FACT_BIT(GUEST_FACT_GVISOR)) != 0, cases[i].is_gvisor);
    }
    ck_assert(!guest_facts_suffice(facts_of("Kernel:\tgVisor\nSeccomp:\t2\n")));
}
END_TEST

START_TEST(landlock_is_what_the_guest_says)
{
    static const struct {
        const char *report;
        uint32_t abi;
    } cases[] = {{"Seccomp:\t2\nLandlock:\t7\n", 7},
                 {"A\nLandlock:\t0\n", 0},
                 {"A\nLandlock:\t12\n", 12},
                 {"A\nLandlock:\t7", 0},
                 {"A\nLandlock:\t\n", 0},
                 {"A\nLandlock:\t-1\n", 0},
                 {"A\nLandlock:\t99999\n", 0},
                 {"A\nLandlock:\t7x\n", 0},
                 {"Name:\tx Landlock:\t7\n", 0},
                 {"", 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        ck_assert_uint_eq(
            guest_facts_landlock((const unsigned char *)cases[i].report, strlen(cases[i].report)),
            cases[i].abi);
}
END_TEST

START_TEST(a_guest_is_known_by_its_whole_digest)
{
    static const char digest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static const struct {
        const char *report;
        bool is_known;
    } cases[] = {
        {"Name:\tx\nGuest:\t0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
         "Kernel:\tLinux\nLandlock:\t7\n",
         true},
        {"Name:\tx\nKernel:\tLinux\nLandlock:\t7\n", false},
        {"Name:\tx\nGuest:\t0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde0\n",
         false},
        {"Name:\tx\nGuest:\t0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0\n",
         false},
        {"Name:\tGuest:\t0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n",
         false},
        {"", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        ck_assert_int_eq(guest_facts_are_of((const unsigned char *)cases[i].report,
                                            strlen(cases[i].report), digest),
                         cases[i].is_known);
}
END_TEST

START_TEST(a_runtime_is_gvisors_by_its_name)
{
    static const struct {
        const char *name;
        const char *runtimes;
        bool is_gvisor;
    } cases[] = {
        {"runsc", "{}", true},
        {"", "{\"runc\":{\"path\":\"runc\"}}", false},
        {"strong", "{\"strong\":{\"path\":\"/usr/local/bin/runsc\"}}", true},
        {"strong", "{\"strong\":{\"runtimeType\":\"io.containerd.runsc.v1\"}}", true},
        {"strong", "{\"strong\":{\"path\":\"/usr/bin/kata\"},\"runsc\":{}}", false},
        {"io.containerd.runsc.v1", "null", true},
        {"io.containerd.kata.v2", "null", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_auto_t *runtimes = json_loads(cases[i].runtimes, JSON_DECODE_ANY, NULL);
        const struct engine_facts facts = {.runtime = "runc", .runtimes = runtimes};
        ck_assert_int_eq(engine_facts_runtime_is_gvisor(&facts, cases[i].name), cases[i].is_gvisor);
    }
    const struct engine_facts facts = {.runtime = "runsc"};
    ck_assert(engine_facts_runtime_is_gvisor(&facts, ""));
    ck_assert(!engine_facts_runtime_is_gvisor(&facts, "runc"));
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

#define EXITED(code)                                               \
    {                                                              \
        .reported = true, .program = {.wait_status = (code) << 8 } \
    }
#define KILLED(number)                                          \
    {                                                           \
        .reported = true, .program = {.wait_status = (number) } \
    }

START_TEST(endings)
{
    static const struct {
        struct container_end end;
        bool out_of_memory;
        enum run_cause cause;
        int exit_code;
        int signal;
    } cases[] = {
        {EXITED(0), false, RUN_CAUSE_EXIT, 0, 0},
        {EXITED(7), false, RUN_CAUSE_EXIT, 7, 0},
        {EXITED(137), false, RUN_CAUSE_EXIT, 137, 0},
        {EXITED(1), true, RUN_CAUSE_MEMORY_LIMIT, 1, 0},
        {EXITED(0), true, RUN_CAUSE_EXIT, 0, 0},
        {KILLED(SIGKILL), false, RUN_CAUSE_SIGNAL, -1, SIGKILL},
        {KILLED(SIGKILL), true, RUN_CAUSE_MEMORY_LIMIT, -1, SIGKILL},
        {KILLED(SIGSEGV | 0x80), false, RUN_CAUSE_SIGNAL, -1, SIGSEGV},
        {KILLED(SIGXCPU), false, RUN_CAUSE_CPU_LIMIT, -1, SIGXCPU},
        {KILLED(SIGXFSZ), false, RUN_CAUSE_FILE_LIMIT, -1, SIGXFSZ},
        {KILLED(SIGSYS), false, RUN_CAUSE_FORBIDDEN_SYSCALL, -1, SIGSYS},
        {{.status = 137}, false, RUN_CAUSE_SIGNAL, -1, SIGKILL},
        {{.status = 137}, true, RUN_CAUSE_MEMORY_LIMIT, -1, SIGKILL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct run_event event = {.type = RUN_EVENT_ENDED};
        struct container_end end = cases[i].end;
        end.memory_killed = cases[i].out_of_memory;
        ck_assert(container_end_is_explained(&end));
        container_cause_decide(&end, &event);
        ck_assert_uint_eq(event.cause, cases[i].cause);
        ck_assert_int_eq(event.exit_code, cases[i].exit_code);
        ck_assert_int_eq(event.signal, cases[i].signal);
    }
    ck_assert(!container_end_is_explained(&(struct container_end){.status = 0}));
    ck_assert(!container_end_is_explained(&(struct container_end){.status = 1}));
}
END_TEST

START_TEST(usage_is_the_guests)
{
    struct run_event event = {.usage = {.user_us = 1, .system_us = 2, .peak_memory_bytes = 3}};
    struct container_end end = {.status = 137};
    container_cause_decide(&end, &event);
    ck_assert(event.usage.user_us == 1 && event.usage.system_us == 2 &&
              event.usage.peak_memory_bytes == 3);
    end = (struct container_end){
        .reported = true, .program = {.user_us = 30, .system_us = 40, .peak_memory_bytes = 50}};
    container_cause_decide(&end, &event);
    ck_assert(event.usage.user_us == 30 && event.usage.system_us == 40 &&
              event.usage.peak_memory_bytes == 50);
}
END_TEST

static bool reads(const struct guest_measure *written, size_t length, struct guest_measure *ret)
{
    unsigned char bytes[64] = {0};
    struct wire_writer writer = {.bytes = bytes, .capacity = sizeof(bytes), .limit = sizeof(bytes)};
    guest_measure_write(&writer, written);
    return guest_measure_read(bytes, length ? length : writer.length, ret);
}

/* A clock divides by the number of processors. */
START_TEST(a_measure_is_whole_and_possible)
{
    const struct guest_measure good = {
        .is_known = 1, .processors = 2, .total_us = UINT64_MAX, .cost_us = 5, .user_us = 6};
    struct guest_measure bad[] = {good, good, good, good, good};
    struct guest_measure read = {.total_us = 7};
    bad[0].is_known = 2;
    bad[1].processors = 0;
    bad[2].processors = UINT16_MAX + 1;
    bad[3].cost_us = UINT64_C(1) << 32;
    bad[4].total_us = 5;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert(!reads(&bad[i], 0, &read));
    ck_assert(!reads(&good, 1, &read) && !reads(&good, 63, &read));
    ck_assert_uint_eq(read.total_us, 7);
    ck_assert(reads(&good, 0, &read));
    ck_assert(read.is_known == 1 && read.processors == 2 && read.total_us == UINT64_MAX &&
              read.cost_us == 5 && read.user_us == 6);
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
    tcase_add_test(cases, facts_are_compared_exactly);
    tcase_add_test(cases, gvisor_takes_no_filter_from_an_engine);
    tcase_add_test(cases, landlock_is_what_the_guest_says);
    tcase_add_test(cases, a_guest_is_known_by_its_whole_digest);
    tcase_add_test(cases, a_runtime_is_gvisors_by_its_name);
    tcase_add_test(cases, engines_are_judged);
    tcase_add_test(cases, endings);
    tcase_add_test(cases, usage_is_the_guests);
    tcase_add_test(cases, a_measure_is_whole_and_possible);
    return run_suite("docker stream", &cases, 1);
}
