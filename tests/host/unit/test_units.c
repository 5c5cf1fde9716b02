/* SPDX-License-Identifier: Apache-2.0 */
/* Units of toolhost that need no process: escaping, numbers, the command line, lines, reports. */
#include <stdlib.h>
#include <string.h>

#include "approval/approval.h"
#include "audit/audit_line.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/number.h"
#include "base/text_escape.h"
#include "formats/doctor_report.h"
#include "formats/run_outcome.h"
#include "host/capability.h"
#include "metrics/prometheus_text.h"
#include "options/options.h"
#include "tap_suite.h"

static char *escaped(const char *text, size_t length)
{
    char *shown = NULL;
    size_t shown_length = 0;
    FILE *out = open_memstream(&shown, &shown_length);
    text_escape_write(out, text, length);
    (void)fclose(out);
    return shown;
}

START_TEST(escape_shows_what_hides)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"plain ASCII ~", "plain ASCII ~"},
        {"gr\u00fcn \u4f60\u597d", "gr\u00fcn \u4f60\u597d"},
        {"\x1b[31m", "<U+001B>[31m"},
        {"a\nb\r", "a<U+000A>b<U+000D>"},
        {"\u202e\u2066\u200b\ufeff", "<U+202E><U+2066><U+200B><U+FEFF>"},
        {"\xc2\x85\u00a0\u00ad", "<U+0085><U+00A0><U+00AD>"},
        {"\U000e0061\U0010ffff", "<U+E0061><U+10FFFF>"},
        {"\xff\xc0\x80", "<0xFF><0xC0><0x80>"},           /* never UTF-8, overlong */
        {"\xed\xa0\x80", "<0xED><0xA0><0x80>"},           /* a surrogate */
        {"\xe2\x82", "<0xE2><0x82>"},                     /* cut off */
        {"\xf4\x90\x80\x80", "<0xF4><0x90><0x80><0x80>"}, /* beyond Unicode */
        {"\t|", "    |"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP_FREE char *shown = escaped(cases[i].text, strlen(cases[i].text));
        ck_assert_str_eq(shown, cases[i].shown);
    }
    CLEANUP_FREE char *with_nul = escaped("a\0b", 3);
    ck_assert_str_eq(with_nul, "a<U+0000>b");
}
END_TEST

/* asked for, one letter a question: all of it, =a, =b, its child, another */
START_TEST(a_denied_capability_is_never_granted)
{
    static const char *const asked[] = {"x", "x=a", "x=b", "x.y", "z", "x=!"};
    static const struct {
        const char *grants[3];
        size_t count;
        const char *granted;
    } cases[] = {
        {{NULL}, 0, "------"},
        {{"x"}, 1, "+++---"},
        {{"x=a"}, 1, "-+----"},
        {{"x", "!x"}, 2, "------"},
        {{"!x", "x=a"}, 2, "------"},
        {{"x", "!x=a"}, 2, "--+---"},
        {{"x=a", "!x=a", "x=b"}, 3, "--+---"},
        {{"x.y", "!x", "z"}, 3, "---++-"},
        {{"!z"}, 1, "------"},
        {{"x=a=b"}, 1, "------"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t j = 0; j < COUNT_OF(asked); j++)
            ck_assert_msg((capability_judge(cases[i].grants, cases[i].count, asked[j]) ==
                           CAPABILITY_GRANTED) == (cases[i].granted[j] == '+'),
                          "case %zu, %s", i, asked[j]);
}
END_TEST

static char *escaped_words(const char *text)
{
    char *shown = NULL;
    size_t shown_length = 0;
    FILE *out = open_memstream(&shown, &shown_length);
    struct escape_words words = {0};
    for (size_t length = strlen(text); length > 0;) {
        struct shown_character next = text_escape_next_of_words(&words, text, length);
        (void)fputs(next.text, out);
        text += next.consumed;
        length -= next.consumed;
    }
    (void)fclose(out);
    return shown;
}

START_TEST(escape_shows_what_looks_like_something_else)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"p\u0430ypal(x)", "p<U+0430>ypal(x)"},
        {"\u0430\u0440\u0435", "<U+0430><U+0440><U+0435>"}, /* nothing but look-alikes */
        {"\u043f\u0440\u0438\u0432\u0435\u0442",
         "\u043f\u0440\u0438\u0432\u0435\u0442"}, /* Russian */
        {"\u043f\u0440\u0438\u0432\u0435\u0442_a", "\u043f<U+0440>\u0438\u0432<U+0435>\u0442_a"},
        {"\u00e9\u0430", "\u00e9<U+0430>"},
        {"import \u043es, \u0436", "import <U+043E>s, \u0436"},
        {"a\u037e b\u2215c", "a<U+037E> b<U+2215>c"},
        {"\uff45\uff56\uff41\uff4c\uff08", "<U+FF45><U+FF56><U+FF41><U+FF4C><U+FF08>"},
        {"\U0001d41e1", "<U+1D41E>1"},
        {"gr\u00fcn \u4f60\u597d 1 _", "gr\u00fcn \u4f60\u597d 1 _"},
        {"a\u202e\u0430", "a<U+202E><U+0430>"},
        {"\xff\u0430", "<0xFF><U+0430>"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP_FREE char *shown = escaped_words(cases[i].text);
        ck_assert_str_eq(shown, cases[i].shown);
    }
}
END_TEST

/* Whatever the bytes are, what is shown has no control character and ends. */
START_TEST(escape_takes_any_bytes)
{
    unsigned seed = 1;
    for (int input = 0; input < 2000; input++) {
        char bytes[64];
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (char)(rand_r(&seed) >> 7);
        CLEANUP_FREE char *shown = escaped(bytes, sizeof(bytes));
        for (const char *c = shown; *c; c++)
            ck_assert((unsigned char)*c >= 0x20 && *c != 0x7f);
    }
}
END_TEST

START_TEST(number_is_strict)
{
    static const char *const bad[] = {"",    " 1",
                                      "1 ",  "+1",
                                      "-1",  "0x1",
                                      "1e3", "18446744073709551616",
                                      "101", "99999999999999999999999"};
    uint64_t value = 0;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert(!number_parse(bad[i], i == 7 ? UINT64_MAX : 100, &value));
    ck_assert(!number_parse(NULL, 100, &value));
    ck_assert(number_parse("18446744073709551615", UINT64_MAX, &value));
    ck_assert_uint_eq(value, UINT64_MAX);
    ck_assert(number_parse("007", 100, &value));
    ck_assert_uint_eq(value, 7);
}
END_TEST

START_TEST(options_keep_the_programs_arguments)
{
    char *arguments[] = {(char[]){"toolhost"},
                         (char[]){"--cap"},
                         (char[]){"a.b"},
                         (char[]){"run"},
                         (char[]){"f.py"},
                         (char[]){"--approve"},
                         (char[]){"cmd:x"},
                         (char[]){"--secret"},
                         (char[]){"N=/f=1"},
                         (char[]){"--"},
                         (char[]){"--approve"},
                         (char[]){"always"},
                         NULL};
    CLEANUP(options_clear) struct options options = {0};
    struct failure failure;
    ck_assert(options_parse((int)COUNT_OF(arguments) - 1, arguments, &options, &failure));
    ck_assert_int_eq(options.command, COMMAND_RUN);
    ck_assert_int_eq(options.approver.mode, APPROVAL_COMMAND);
    ck_assert_str_eq(options.approver.target, "x");
    ck_assert_str_eq(options.secrets.pairs[0].name, "N");
    ck_assert_str_eq(options.secrets.pairs[0].value, "/f=1");
    ck_assert_uint_eq(options.program_argument_count, 2);
    ck_assert_str_eq(options.program_arguments[0], "--approve");
}
END_TEST

START_TEST(lists_are_searched_for_texts)
{
    json_auto_t *list = json_pack("[i, s, s#, s]", 1, "other", "a\0b", 3, "found");
    ck_assert(json_list_has(list, "found"));
    ck_assert(!json_list_has(list, "a"));
    ck_assert(!json_list_has(list, "1"));
    ck_assert(!json_list_has(NULL, "found"));
}
END_TEST

START_TEST(line_says_its_place)
{
    static const struct audit_keys no_keys;
    struct failure failure;
    struct audit_link link = audit_link_none();
    for (uint64_t seq = 1; seq < 4; seq++) {
        CLEANUP_FREE char *line = NULL;
        CLEANUP(audit_entry_clear) struct audit_entry entry = {0};
        size_t length = 0;
        char before[SHA256_HEX + 1];
        memcpy(before, link.sha256, sizeof(before));
        ck_assert(audit_line_make(&link, "{\"sha256\":\"x\",\n\"n\":1}", false, NULL, &line,
                                  &length, &failure));
        ck_assert_ptr_eq(memchr(line, '\n', length), line + length - 1);
        ck_assert(audit_line_check(line, length - 1, &no_keys, &entry, &failure));
        audit_link_advance(&link, line, length);
        ck_assert_uint_eq(entry.link.seq, seq);
        ck_assert_uint_eq(link.seq, seq);
        ck_assert_str_eq(link.sha256, entry.link.sha256);
        ck_assert_str_eq(entry.previous, before);
    }
}
END_TEST

START_TEST(line_refuses_what_is_no_record)
{
    static const char *const bad[] = {"", "[]", "null", "{", "{\"a\":1,\"a\":2}", "{} {}"};
    struct failure failure;
    struct audit_link none = audit_link_none();
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char *line = NULL;
        size_t length = 0;
        ck_assert(!audit_line_make(&none, bad[i], false, NULL, &line, &length, &failure));
        ck_assert_ptr_null(line);
    }
}
END_TEST

START_TEST(metrics_keep_labels_in_their_quotes)
{
    size_t length = 0;
    json_auto_t *status = json_pack(
        "{s:s, s:[{s:s, s:b, s:b, s:[{s:s, s:s}]}], s:{s:i, s:s}, s:[i, {s:s, s:s}, {s:s, s:s, "
        "s:[i, {s:s, s:i, s:n, s:s}]}]}",
        "provider", "a\"b\\c\nd", "backends", "name", "none", "available", 1, "allowed", 0,
        "layers", "name", "seccomp", "state", "applied", "counters", "calls_run", 7, "calls_queued",
        "x", "pools", 7, "backend", "dumb", "state", "silent", "backend", "a\"", "state",
        "answered", "sandboxes", 7, "interpreter", "b\\", "ready", 3, "memory_bytes", "wanted",
        "x");
    CLEANUP_FREE char *text = prometheus_text_make(status, &length);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(length, strlen(text));
    ck_assert_ptr_nonnull(strstr(text, "{provider=\"a\\\"b\\\\c\\nd\",version=\"\""));
    ck_assert_ptr_nonnull(strstr(text, "\ntoolhost_backend_available{name=\"none\"} 1\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "\ntoolhost_layer_applied{backend=\"none\",layer=\"seccomp\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(text, "\ntoolhost_calls_run_total 7\n"));
    ck_assert_ptr_null(strstr(text, "calls_queued"));
    ck_assert_ptr_nonnull(strstr(text, "\ntoolhost_pool_known{backend=\"dumb\"} 0\n"));
    ck_assert_ptr_nonnull(strstr(text, "\ntoolhost_pool_known{backend=\"a\\\"\"} 1\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "\ntoolhost_pool_ready{backend=\"a\\\"\",interpreter=\"b\\\\\"} 3\n"));
    ck_assert_ptr_null(strstr(text, "toolhost_pool_wanted{"));
    ck_assert_ptr_null(strstr(text, "toolhost_pool_memory_bytes{"));
}
END_TEST

START_TEST(outcome_is_an_exit_status)
{
    static const struct {
        bool ran;
        const char *result;
        int status;
    } cases[] = {
        {true, "{\"status\":\"completed\",\"exit_code\":0}", 0},
        {true, "{\"status\":\"completed\",\"exit_code\":7}", 7},
        {true, "{\"status\":\"killed\",\"signal\":9}", 137},
        {true, "{\"status\":\"killed\",\"signal\":\"SIGSEGV\"}", 139},
        {true, "{\"status\":\"killed\",\"signal\":null}", 137},
        {true, "{\"status\":\"timeout\",\"timed_out\":true,\"signal\":9}", 124},
        {true, "{\"status\":\"cancelled\",\"signal\":9}", 130},
        {false, "{\"status\":\"cancelled\"}", 130},
        {false, "{\"status\":\"denied\",\"exit_code\":0}", 125},
        {false, "{}", 125},
        {true, "{}", 125},
        {true, "{\"exit_code\":\"0\"}", 125},
        {true, "{\"exit_code\":256}", 125},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_auto_t *result = json_loads(cases[i].result, 0, NULL);
        ck_assert_int_eq(run_outcome_exit_status(cases[i].ran, result), cases[i].status);
    }
}
END_TEST

/* A status that lacks anything, or has the wrong type anywhere, is read without harm. */
START_TEST(doctor_is_tolerant)
{
    static const char *const statuses[] = {
        "{}", "{\"backends\":7,\"runtimes\":\"x\",\"policy\":[],\"counters\":[1]}",
        "{\"backends\":[1,{},{\"layers\":[2,{}]}],\"runtimes\":[{},null],\"error\":{}}",
        "{\"backends\":[{\"name\":\"a\\u001b\",\"available\":true}]}"};
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        json_auto_t *status = json_loads(statuses[i], 0, NULL);
        CLEANUP_FREE char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        doctor_report_write(out, status);
        (void)fclose(out);
        ck_assert_ptr_null(strchr(text, '\x1b'));
        ck_assert(doctor_report_is_available(status) == (i == 3));
    }
}
END_TEST

#define VARIANT(available)                                                                        \
    "{\"name\":\"v\",\"variant_of\":\"b\",\"available\":" available ",\"how\":\"h\",\"layers\":[" \
    "{\"name\":\"first\",\"state\":\"missing\",\"detail\":\"d\"},"                                \
    "{\"name\":\"second\",\"state\":\"applied\",\"detail\":\"d\"}]}"
#define VARIANT_STATUS(available, variants) \
    "{\"backends\":[{\"name\":\"b\",\"available\":" available "}],\"variants\":[" variants "]}"

/* And at which price; not where the mode itself is available, and not what would not be. */
START_TEST(doctor_says_what_would_be_available)
{
    static const struct {
        const char *status, *text;
    } cases[] = {
        {VARIANT_STATUS("false", VARIANT("true")), "backend b: not available\n"
                                                   "in place of b: v would be available\n"
                                                   "  how: h\n"
                                                   "  without first: d\n"},
        {VARIANT_STATUS("true", VARIANT("true")), "backend b: available\n"},
        {VARIANT_STATUS("false", VARIANT("false")), "backend b: not available\n"},
        {VARIANT_STATUS("false", "{}"), "backend b: not available\n"},
        {VARIANT_STATUS("false", "7"), "backend b: not available\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_auto_t *status = json_loads(cases[i].status, 0, NULL);
        CLEANUP_FREE char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        doctor_report_write(out, status);
        (void)fclose(out);
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

START_TEST(doctor_says_what_is_worth_reading)
{
    json_auto_t *status =
        json_loads("{\"backends\":[{\"name\":\"b\",\"layers\":["
                   "{\"name\":\"first\",\"state\":\"applied\",\"detail\":\"d\"},"
                   "{\"name\":\"second\",\"state\":\"untested\",\"detail\":\"d\"},"
                   "{\"name\":\"third\",\"state\":\"failed\",\"detail\":\"d\"},"
                   "{\"name\":\"fourth\",\"state\":\"untested\",\"detail\":\"d\"}]}],"
                   "\"runtimes\":[{\"language\":\"l\",\"found\":true,\"path\":\"/p\","
                   "\"preparation\":[{\"word\":null,\"how\":\"copied\",\"code\":\"copied\","
                   "\"message\":null,\"remedy\":null},{\"word\":\"w\",\"how\":\"started_ahead\","
                   "\"code\":\"c\",\"message\":\"m\",\"remedy\":\"r\\n\"}]},"
                   "{\"language\":\"k\",\"found\":true,\"path\":\"/q\",\"preparation\":7}],"
                   "\"counters\":{\"none\":0,\"some\":2}}",
                   0, NULL);
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    doctor_report_write(out, status);
    (void)fclose(out);
    ck_assert_str_eq(text, "backend b: not available\n"
                           "  applied  first: d\n"
                           "  failed  third: d\n"
                           "  untested  second, fourth\n"
                           "runtimes\n"
                           "  l: /p\n"
                           "    other programs: copied\n"
                           "    programs that name w: started_ahead, c: m\n"
                           "      remedy: r<U+000A>\n"
                           "  k: /q\n"
                           "counters\n"
                           "  some: 2\n");
}
END_TEST

int main(void)
{
    TCase *units = tcase_create("units");
    tcase_add_test(units, escape_shows_what_hides);
    tcase_add_test(units, escape_takes_any_bytes);
    tcase_add_test(units, a_denied_capability_is_never_granted);
    tcase_add_test(units, number_is_strict);
    tcase_add_test(units, options_keep_the_programs_arguments);
    tcase_add_test(units, escape_shows_what_looks_like_something_else);
    tcase_add_test(units, line_says_its_place);
    tcase_add_test(units, line_refuses_what_is_no_record);
    tcase_add_test(units, outcome_is_an_exit_status);
    tcase_add_test(units, metrics_keep_labels_in_their_quotes);
    tcase_add_test(units, doctor_is_tolerant);
    tcase_add_test(units, doctor_says_what_would_be_available);
    tcase_add_test(units, doctor_says_what_is_worth_reading);
    tcase_add_test(units, lists_are_searched_for_texts);
    return run_suite("host", &units, 1);
}
