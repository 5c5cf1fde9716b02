/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Content checks of Python without a sandbox: what comes of each answer that a checker could give,
 * junk and lies included, under each policy; and that memory which ends lets nothing through.
 * Single-threaded.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/failing_memory.h"
#include "base/cleanup.h"
#include "call/call.h"
#include "content/content.h"
#include "tap_suite.h"

bool __wrap_run_execute(struct run *run, struct run_outcome *ret, struct error *error);

#define FINDING(file, line, column, rule, name)                                   \
    "{\"file\":" file ",\"line\":" line ",\"column\":" column ",\"rule\":\"" rule \
    "\",\"name\":\"" name "\"}"
#define FOUND(findings, more) "{\"parsed\":true,\"findings\":[" findings "],\"more\":" more "}"
#define UNPARSED(members)     "{\"parsed\":false" members "}"
#define ONE                   FINDING("0", "3", "1", "forbidden_module", "os")

static const char *answer; /* what the checker prints */
static size_t answer_times = 1;
static struct run_event end;
static bool lost; /* the backend, during the check */
static size_t run_count;
static enum sandbox_mode run_mode;
static char run_files[512]; /* names of the files that it got */

bool __wrap_run_execute(struct run *run, struct run_outcome *ret, struct error *error)
{
    run_count++;
    run_mode = run->mode;
    run_files[0] = '\0';
    for (size_t i = 0; i < run->description->file_count; i++) {
        size_t length = strlen(run_files);
        (void)snprintf(run_files + length, sizeof(run_files) - length, "%s ",
                       run->description->files[i].path);
    }
    if (lost) {
        error_set(error, ERROR_BACKEND_FAILED, "lost");
        return false;
    }
    for (size_t i = 0; i < answer_times; i++)
        output_capture_add(&run->output.capture, answer, strlen(answer));
    *ret = (struct run_outcome){.started = true, .ended = end};
    return true;
}

static void set_up(void)
{
    answer = FOUND("", "0");
    answer_times = 1;
    end = (struct run_event){.type = RUN_EVENT_ENDED, .cause = RUN_CAUSE_EXIT};
    lost = false;
    run_count = 0;
    memory_left = -1;
}

#define FILES                                                                                    \
    ",\"files\":[{\"path\":\"a.txt\",\"content\":\"\"},{\"path\":\"b/c.py\",\"content\":\"x\"}," \
    "{\"path\":\".py\",\"content\":\"x\"}]"

static struct call *new_call(const char *rules, const char *more)
{
    char policy[512];
    char input[512];
    struct error error;
    struct call *call = calloc(1, sizeof(*call));
    call_init(call, NULL);
    (void)snprintf(policy, sizeof(policy), "{\"content_checks\":{\"languages\":{\"python\":%s}}}",
                   rules);
    (void)snprintf(input, sizeof(input), "{\"language\":\"python\",\"code\":\"import os\"%s}",
                   more);
    call->configuration.mode = SANDBOX_MODE_PROCESS;
    call->configuration.policy = policy_load_text("test", policy, strlen(policy), &error);
    ck_assert_msg(call->configuration.policy != NULL, "%s", error.message);
    call->language = policy_find_language(call->configuration.policy, "python");
    call->parsed =
        request_parse(REQUEST_CODE_EXECUTE, input, strlen(input), &call->request, &error);
    ck_assert_msg(call->parsed, "%s", error.message);
    return call;
}

static void cleanup_call(struct call **call)
{
    call_clear(*call);
    free(*call);
}

#define WARN            "{\"action\":\"warn\"}"
#define WARN_REQUIRED   "{\"action\":\"warn\",\"required\":true}"
#define REFUSE          "{\"action\":\"refuse\"}"
#define REFUSE_REQUIRED "{\"action\":\"refuse\",\"required\":true}"
#define JUNK            "the content check failed: answer"

static const struct {
    const char *answer;
    const char *message; /* of its last finding; NULL: it is taken, and there is none */
    bool is_answer;
} answers[] = {
    {FOUND("", "0"), NULL, true},
    {FOUND(ONE, "0"), "imports os, which the policy forbids", true},
    {FOUND(FINDING("0", "3", "1", "module_not_allowed", "os"), "0"),
     "imports os, which is not in the policy's list of modules", true},
    {FOUND(FINDING("0", "3", "1", "dynamic_code", "exec"), "0"),
     "runs by exec code that is not constant", true},
    {"", JUNK, false},
    {"partial\n", JUNK, false},
    {"[]", JUNK, false},
    {FOUND("", "0") "{}", JUNK, false},
    {"{}", JUNK ": /parsed: missing", false},
    {"{\"parsed\":1}", JUNK ": /parsed: must be true or false", false},
    {"{\"parsed\":true}", JUNK ": /more: missing", false},
    {"{\"parsed\":true,\"more\":0}", JUNK ": /findings: missing", false},
    {"{\"parsed\":true,\"more\":-1,\"findings\":[]}", JUNK ": /more: must be", false},
    {"{\"parsed\":true,\"more\":0,\"findings\":[],\"x\":1}", JUNK ": /x: unknown member", false},
    {FOUND("1", "0"), JUNK ": /findings/0: must be an object", false},
    {FOUND(ONE ",{}", "0"), JUNK ": /findings/1/file: missing", false},
    {FOUND(FINDING("1", "3", "1", "dynamic_code", "x"), "0"), JUNK ": /findings/0/file: must",
     false},
    {FOUND(FINDING("-1", "3", "1", "dynamic_code", "x"), "0"), JUNK ": /findings/0/file: must",
     false},
    {FOUND(FINDING("0", "0", "1", "dynamic_code", "x"), "0"), JUNK ": /findings/0/line: must",
     false},
    {FOUND(FINDING("0", "4294967297", "1", "dynamic_code", "x"), "0"),
     JUNK ": /findings/0/line: must", false},
    {FOUND(FINDING("0", "1", "0", "dynamic_code", "x"), "0"), JUNK ": /findings/0/column: must",
     false},
    {FOUND(FINDING("0", "1", "1", "harmless", "x"), "0"), JUNK ": /findings/0/rule: is no rule",
     false},
    {FOUND(FINDING("0", "1", "1", "", "x"), "0"), JUNK ": /findings/0/rule: must not be empty",
     false},
    {FOUND(FINDING("0", "1", "1", "dynamic_code", ""), "0"), JUNK ": /findings/0/name: must not",
     false},
    {FOUND(FINDING("0", "1", "1", "dynamic_code", "\xE2\x80\xAE"), "0"),
     JUNK ": /findings/0/name: must be ASCII", false},
    {FOUND(FINDING("0", "1", "1", "dynamic_code", "\\u007f"), "0"),
     JUNK ": /findings/0/name: must not hold control characters", false},
    {FOUND(FINDING("0", "1", "1", "dynamic_code", "a\\n"), "0"),
     JUNK ": /findings/0/name: must not hold control characters", false},
    {UNPARSED(""), JUNK ": /file: missing", false},
    {UNPARSED(",\"file\":0,\"line\":1,\"column\":1"), JUNK ": /reason: missing", false},
    {UNPARSED(",\"file\":0,\"line\":1,\"column\":1,\"reason\":\"a\",\"more\":0"),
     JUNK ": /more: unknown member", false},
    {UNPARSED(",\"file\":0,\"line\":1,\"column\":7,\"reason\":\"bad\""), "is no Python: bad",
     false},
};

START_TEST(only_an_answer_is_one)
{
    struct error error = {.code = ERROR_CODE_COUNT};
    CLEANUP(cleanup_call) struct call *warned = new_call(WARN, "");
    CLEANUP(cleanup_call) struct call *required = new_call(WARN_REQUIRED, "");
    answer = answers[_i].answer;
    ck_assert(content_check(warned, &error));
    const struct content_findings *found = &warned->content;
    ck_assert_uint_eq(found->count, answers[_i].message == NULL ? 0 : 1);
    if (answers[_i].message != NULL)
        ck_assert_msg(
            strncmp(found->list[0].message, answers[_i].message, strlen(answers[_i].message)) == 0,
            "%s", found->list[0].message);
    ck_assert_uint_eq(json_array_size(warned->notes), found->count);
    ck_assert_int_eq(content_check(required, &error), answers[_i].is_answer);
    ck_assert_int_eq(error.code, answers[_i].is_answer ? ERROR_CODE_COUNT : ERROR_CONTENT_REFUSED);
}
END_TEST

static const struct {
    struct run_event end;
    const char *message;
} ends[] = {
    {{.cause = RUN_CAUSE_EXIT, .exit_code = 1}, "it did not end with status 0"},
    {{.cause = RUN_CAUSE_WALL_TIMEOUT, .exit_code = -1}, "wall_timeout"},
    {{.cause = RUN_CAUSE_MEMORY_LIMIT, .exit_code = -1}, "memory_limit"},
    {{.cause = RUN_CAUSE_SIGNAL, .exit_code = -1, .signal = 11}, "signal"},
    {{.cause = RUN_CAUSE_INFRASTRUCTURE,
      .exit_code = -1,
      .failure = RUN_FAILURE_RUNTIME_MISSING,
      .message = "python3"},
     "runtime not found: python3"},
};

START_TEST(a_check_without_an_end_is_none)
{
    struct error error;
    char wanted[256];
    end = ends[_i].end;
    answer = FOUND(ONE, "0");
    CLEANUP(cleanup_call) struct call *warned = new_call(REFUSE, "");
    CLEANUP(cleanup_call) struct call *required = new_call(REFUSE_REQUIRED, "");
    ck_assert(content_check(warned, &error));
    (void)snprintf(wanted, sizeof(wanted), "the content check failed: %s", ends[_i].message);
    ck_assert_str_eq(warned->content.list[0].message, wanted);
    ck_assert_str_eq(warned->content.list[0].rule, "not_checked");
    ck_assert(!content_check(required, &error));
    (void)snprintf(wanted, sizeof(wanted),
                   "content refused: the content check failed: %s (not_checked)", ends[_i].message);
    ck_assert_str_eq(error.message, wanted);
}
END_TEST

START_TEST(a_lost_backend_and_too_much_output_are_no_answer)
{
    struct error error;
    CLEANUP(cleanup_call) struct call *call = new_call(WARN_REQUIRED, "");
    answer_times = 65536;
    ck_assert(!content_check(call, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "it printed too much"));
    set_up();
    lost = true;
    ck_assert(!content_check(call, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "the content check failed: lost"));
}
END_TEST

START_TEST(a_cancelled_check_is_a_cancelled_call)
{
    struct error error;
    CLEANUP(cleanup_call) struct call *call = new_call(WARN, "");
    end.cause = RUN_CAUSE_CANCELLED;
    ck_assert(!content_check(call, &error));
    ck_assert_int_eq(error.code, ERROR_CANCELLED);
}
END_TEST

START_TEST(a_refusal_names_the_first_and_counts_the_others)
{
    struct error error;
    CLEANUP(cleanup_call) struct call *call = new_call(REFUSE, FILES);
    answer = FOUND(FINDING("1", "3", "1", "forbidden_module", "os") "," ONE, "5");
    ck_assert(!content_check(call, &error));
    ck_assert_int_eq(error.code, ERROR_CONTENT_REFUSED);
    ck_assert_str_eq(error.message, "content refused: b/c.py line 3, column 1: imports os, which "
                                    "the policy forbids (forbidden_module)");
    ck_assert_ptr_nonnull(strstr(error.hint, "line 3 (forbidden_module) and 1 more"));
    ck_assert_uint_eq(call->content.more, 5);
    ck_assert_uint_eq(json_array_size(call->notes), 3);
    ck_assert_str_eq(run_files, "main.py constant_fold.py rules.json input/0 input/1 ");
    answer = FOUND(ONE, "0");
    ck_assert(!content_check(call, &error));
    ck_assert_ptr_nonnull(strstr(error.hint, "change line 3 (forbidden_module), or"));
}
END_TEST

START_TEST(the_same_text_is_read_once)
{
    struct error error;
    CLEANUP(cleanup_call) struct call *call = new_call(WARN, FILES);
    ck_assert(content_needs_process(call));
    ck_assert(content_check(call, &error));
    ck_assert(content_check(call, &error));
    ck_assert_uint_eq(run_count, 1);
    call->request.code[0] = 'I'; /* an approver has edited it */
    answer = FOUND(ONE, "0");
    ck_assert(content_check(call, &error));
    ck_assert_uint_eq(run_count, 2);
    ck_assert_uint_eq(call->content.count, 1);
    ck_assert_uint_eq(json_array_size(call->notes), 1);
    (void)json_array_clear(call->notes);
    ck_assert(content_check(call, &error));
    ck_assert_uint_eq(run_count, 2);
    ck_assert_uint_eq(json_array_size(call->notes), 1);
    call->request.files[1].content[0] = 'X';
    ck_assert(content_check(call, &error));
    ck_assert_uint_eq(run_count, 3);
    ck_assert_uint_eq(call->content.count, 1);
}
END_TEST

START_TEST(a_language_without_rules_starts_nothing)
{
    struct error error;
    CLEANUP(cleanup_call) struct call *call = new_call(WARN, "");
    call->request.language = language_find("ruby");
    ck_assert(!content_needs_process(call));
    ck_assert(content_check(call, &error));
    ck_assert_uint_eq(run_count, 0);
}
END_TEST

START_TEST(mode_none_reads_in_a_sandbox)
{
    struct error error;
    CLEANUP(cleanup_call) struct call *call = new_call(WARN, "");
    call->configuration.mode = SANDBOX_MODE_NONE;
    ck_assert(content_check(call, &error));
    ck_assert_int_eq(run_mode, SANDBOX_MODE_PROCESS);
    call->content.text_sha256[0] = '\0';
    call->configuration.mode = SANDBOX_MODE_DOCKER;
    ck_assert(content_check(call, &error));
    ck_assert_int_eq(run_mode, SANDBOX_MODE_DOCKER);
}
END_TEST

/* One finding too many, and then one that is none. */
START_TEST(half_an_answer_counts_for_nothing)
{
    struct error error;
    static char text[CONTENT_FINDINGS_LIMIT * 128];
    size_t length = 0;
    for (int i = 0; i <= CONTENT_FINDINGS_LIMIT; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s,", ONE);
    char whole[sizeof(text) + 64];
    (void)snprintf(whole, sizeof(whole), FOUND("%s%s", "0"), text, "1");
    answer = whole;
    CLEANUP(cleanup_call) struct call *call = new_call(WARN, "");
    ck_assert(content_check(call, &error));
    ck_assert_uint_eq(call->content.count, 1);
    ck_assert_str_eq(call->content.list[0].rule, "not_checked");
    ck_assert_uint_eq(call->content.more, 0);
}
END_TEST

/* What cannot become JSON would deny the approval without a word. */
START_TEST(words_are_cut_between_characters)
{
    struct error error;
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t length = 0;
    end = (struct run_event){.cause = RUN_CAUSE_INFRASTRUCTURE,
                             .failure = RUN_FAILURE_BACKEND,
                             .problem_code = ERROR_BACKEND_FAILED};
    end.message[0] = 'x';
    for (size_t i = 1; i + 2 < sizeof(end.message); i += 2)
        memcpy(end.message + i, "\xC3\xA9", 2);
    CLEANUP(cleanup_call) struct call *call = new_call(WARN, "");
    ck_assert(content_check(call, &error));
    json_draft_open(&draft, NULL, '{');
    content_write(&draft, call);
    json_draft_close(&draft, '}');
    CLEANUP_FREE char *text = json_draft_take(&draft, &length);
    ck_assert_msg(text != NULL, "%s", call->content.list[0].message);
    ck_assert_ptr_nonnull(strstr(text, "x\xC3\xA9"));
    for (size_t i = 0; i < 2; i++) {
        call_note(call, "%.*s%s", (int)i, "x", end.message);
        call_note(call, "%.*s%s%s%s", (int)i, "x", end.message, end.message, end.message);
    }
    ck_assert_uint_eq(json_array_size(call->notes), 1 + 4);
}
END_TEST

START_TEST(more_than_there_is_place_for_is_counted)
{
    struct content_findings findings = {.count = 0};
    struct content_finding finding = {.line = 1};
    for (int i = 0; i < CONTENT_FINDINGS_LIMIT + 3; i++)
        ck_assert(content_add(&findings, &finding));
    ck_assert_uint_eq(findings.count, CONTENT_FINDINGS_LIMIT);
    ck_assert_uint_eq(findings.more, 3);
    content_clear(&findings);
    ck_assert_ptr_null(findings.list);
}
END_TEST

/* Refused with OUT_OF_MEMORY, or with a failed check; never let through unread. */
START_TEST(no_memory_lets_nothing_through)
{
    bool through = false;
    long failing = 0;
    bool told = false;
    answer = _i == 0 ? FOUND(ONE, "0") : "junk";
    for (; !through; failing++) {
        struct error error = {.code = ERROR_CODE_COUNT};
        CLEANUP(cleanup_call) struct call *call = new_call(_i == 0 ? WARN_REQUIRED : WARN, FILES);
        memory_left = failing;
        bool passed = content_check(call, &error);
        through = passed && memory_left >= 0;
        memory_left = -1;
        ck_assert(passed || error.code == ERROR_OUT_OF_MEMORY ||
                  error.code == ERROR_CONTENT_REFUSED);
        ck_assert(!passed || call->content.count == 1);
        told |= !passed && error.code == ERROR_OUT_OF_MEMORY;
    }
    ck_assert(told);
    ck_assert_int_gt(failing, 20);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("answers"), tcase_create("text"), tcase_create("memory")};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        tcase_add_checked_fixture(cases[i], set_up, NULL);
    tcase_add_loop_test(cases[0], only_an_answer_is_one, 0, COUNT_OF(answers));
    tcase_add_loop_test(cases[0], a_check_without_an_end_is_none, 0, COUNT_OF(ends));
    tcase_add_test(cases[0], a_lost_backend_and_too_much_output_are_no_answer);
    tcase_add_test(cases[0], a_cancelled_check_is_a_cancelled_call);
    tcase_add_test(cases[0], a_refusal_names_the_first_and_counts_the_others);
    tcase_add_test(cases[1], the_same_text_is_read_once);
    tcase_add_test(cases[1], a_language_without_rules_starts_nothing);
    tcase_add_test(cases[1], mode_none_reads_in_a_sandbox);
    tcase_add_test(cases[1], half_an_answer_counts_for_nothing);
    tcase_add_test(cases[1], words_are_cut_between_characters);
    tcase_add_test(cases[1], more_than_there_is_place_for_is_counted);
    tcase_add_loop_test(cases[2], no_memory_lets_nothing_through, 0, 2);
    return run_suite("content", cases, COUNT_OF(cases));
}
