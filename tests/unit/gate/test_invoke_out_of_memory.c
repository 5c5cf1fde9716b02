/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lack of memory in the middle of a whole call: the Nth allocation fails (or all from the Nth on),
 * for every N until the call goes through. Nothing crashes or leaks, nothing runs without its start
 * record, what the approver and the audit see is whole. With fake_backend.c beside this program;
 * single-threaded.
 */
#include <dirent.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "gate_support.h"
#include "recording_host.h"
#include "run/readiness.h"
#include "tap_suite.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *pointer, size_t size);
void *__real_reallocarray(void *pointer, size_t count, size_t size);
char *__real_strdup(const char *string);
char *__real_strndup(const char *string, size_t length);
void __real_free(void *pointer);
json_t *__real_json_loadb(const char *text, size_t length, size_t flags, json_error_t *error);
json_t *__wrap_json_loadb(const char *text, size_t length, size_t flags, json_error_t *error);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *pointer, size_t size);
void *__wrap_reallocarray(void *pointer, size_t count, size_t size);
char *__wrap_strdup(const char *string);
char *__wrap_strndup(const char *string, size_t length);
void __wrap_free(void *pointer);

static bool counting;
static bool all_fail_from_there;
static long until_failure; /* allocations that still go through */
static long live;          /* blocks not freed */

static bool parsing; /* jansson 2.14 survives a failure there only if all others fail too */
static bool failed_parsing;

/* Counts the block, or says that there is none. */
static bool fails(bool is_new)
{
    if (!counting)
        return false;
    long left = until_failure--;
    if (left == 0 || (left < 0 && all_fail_from_there) || failed_parsing) {
        failed_parsing = parsing;
        return true;
    }
    live += is_new;
    return false;
}

void *__wrap_malloc(size_t size)
{
    return fails(true) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails(true) ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *pointer, size_t size)
{
    return fails(pointer == NULL) ? NULL : __real_realloc(pointer, size);
}

void *__wrap_reallocarray(void *pointer, size_t count, size_t size)
{
    return fails(pointer == NULL) ? NULL : __real_reallocarray(pointer, count, size);
}

char *__wrap_strdup(const char *string)
{
    return fails(true) ? NULL : __real_strdup(string);
}

char *__wrap_strndup(const char *string, size_t length)
{
    return fails(true) ? NULL : __real_strndup(string, length);
}

json_t *__wrap_json_loadb(const char *text, size_t length, size_t flags, json_error_t *error)
{
    parsing = true;
    json_t *value = __real_json_loadb(text, length, flags, error);
    parsing = false;
    failed_parsing = false;
    return value;
}

void __wrap_free(void *pointer)
{
    live -= counting && pointer != NULL;
    __real_free(pointer);
}

static const char policy_text[] = "{\"secrets\":{\"allowed\":[\"one\",\"two\"]}}";
#define TRACEPARENT "\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\""
#define NARROWING                                                                      \
    "{\"approval\":\"ask\",\"capabilities\":[\"sandbox.exec\",\"sandbox.exec.files\"," \
    "\"sandbox.exec.secrets\"],\"languages\":[\"python\"],\"limits\":{\"wall_ms\":5000}}"
static const char context_text[] =
    "{\"principal\":\"p\",\"session\":\"s\"," TRACEPARENT ",\"policy\":" NARROWING "}";
static const char request_text[] =
    "{\"language\":\"py\",\"code\":\"x\",\"stdin\":\"in\",\"args\":[\"first\",\"second\"],"
    "\"env\":{\"A\":\"1\",\"B\":\"2\"},\"secrets\":{\"C\":\"{{secret:one}}\","
    "\"D\":\"{{secret:two}}\"},\"files\":[{\"path\":\"a\",\"content\":\"x\"},{\"path\":\"b\","
    "\"content\":\"AAAA\",\"encoding\":\"base64\"}],\"timeout_ms\":1000,\"reason\":\"r\"}";

/* What may be shown to the approver and stored as the start, if anything is: the pieces that a
 * failure could leave out. */
static const char *const in_approval_request[] = {
    "\"first\"",      "\"second\"",       "\"A\":\"1\"",      "\"B\":\"2\"",
    "\"C\":\"one\"",  "\"D\":\"two\"",    "\"path\":\"a\"",   "\"path\":\"b\"",
    "\"code\":\"x\"", "\"stdin\":\"in\"", "\"reason\":\"r\"", "\"narrowing\":" NARROWING};
static const char *const in_start_record[] = {"\"one\"",
                                              "\"two\"",
                                              "\"wall_ms\"",
                                              "\"principal\":\"p\"",
                                              "\"session\":\"s\"",
                                              TRACEPARENT,
                                              "\"narrowing\":" NARROWING};

static const char *missing; /* a piece that was not there */

static void look_for(const char *const *pieces, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(text, pieces[i]) == NULL)
            missing = pieces[i];
}

static void check_approval(void *user, uint64_t token, const char *request_json, uint32_t *verdict)
{
    look_for(in_approval_request, COUNT_OF(in_approval_request), request_json);
    record_approval(user, token, request_json, verdict);
}

static void check_audit(void *user, const char *record_json, uint32_t *verdict)
{
    record_audit(user, record_json, verdict);
    struct recording_host *host = user;
    if (strcmp(host->last_record, "start") == 0)
        look_for(in_start_record, COUNT_OF(in_start_record), record_json);
}

static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory) != NULL)
        count++;
    (void)closedir(directory);
    return count;
}

struct attempt {
    struct recording_host host;
    int32_t code;
    char *output;
};

/* One call with the given allocation failing; -1: none. */
static void attempt_call(long failing, struct attempt *ret)
{
    struct tool_host host = recording_host(&ret->host);
    host.context_json = context_text;
    host.request_approval = check_approval;
    host.audit = check_audit;
    missing = NULL;
    ret->output = NULL;
    readiness_forget(); /* the trial is part of it */
    live = 0;
    until_failure = failing;
    counting = failing >= 0;
    ret->code = tool_invoke("code_execute", request_text, &host, &ret->output);
    counting = false;
}

static void expect_sound(const struct attempt *attempt, long failing)
{
    struct result_fault fault;
    bool ran = strchr(attempt->host.called, 'O') != NULL || attempt->code == TOOL_OK;
    ck_assert_msg(missing == NULL, "allocation %ld: %s was left out", failing, missing);
    ck_assert_msg(!ran || strcmp(attempt->host.first_record, "start") == 0,
                  "allocation %ld: ran without a start record: %s", failing, attempt->host.called);
    ck_assert_msg((attempt->output == NULL) == (attempt->code == TOOL_FAILED),
                  "allocation %ld: code %d", failing, (int)attempt->code);
    if (attempt->output == NULL)
        return;
    json_auto_t *result = json_loads(attempt->output, 0, NULL);
    ck_assert_msg(result_fits(result, &fault), "allocation %ld: %s: %s", failing, fault.text,
                  attempt->output);
    bool tells = json_is_object(json_object_get(result, "error"));
    ck_assert_msg(attempt->code == TOOL_OK || tells, "allocation %ld: %s", failing,
                  attempt->output);
}

START_TEST(fails_cleanly)
{
    struct attempt attempt;
    configure_policy(policy_text, "process");
    json_set_alloc_funcs(__wrap_malloc, __wrap_free);
    attempt_call(-1, &attempt); /* starts the backend; jansson seeds its hash */
    ck_assert_msg(attempt.code == TOOL_OK, "%s", attempt.output);
    tool_free(attempt.output);
    size_t descriptors = count_descriptors();
    all_fail_from_there = _i != 0;
    long failing = 0;
    for (bool untouched = false; !untouched; failing++) {
        attempt_call(failing, &attempt);
        untouched = until_failure >= 0;
        expect_sound(&attempt, failing);
        ck_assert_msg(live == (attempt.output != NULL), "%ld blocks left at allocation %ld", live,
                      failing);
        tool_free(attempt.output);
        ck_assert_uint_eq(count_descriptors(), descriptors);
    }
    ck_assert_int_eq(attempt.code, TOOL_OK);
    (void)printf("# a whole call, one allocation%s: %ld points\n",
                 all_fail_from_there ? " and all after it" : "", failing - 1);
    (void)fflush(stdout);
    ck_assert_int_gt(failing, 300); /* or the wrapping did not work */
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("invoke_out_of_memory")};
    tcase_set_timeout(cases[0], 120);
    tcase_add_loop_test(cases[0], fails_cleanly, 0, 2);
    return run_suite("invoke_out_of_memory", cases, COUNT_OF(cases));
}
