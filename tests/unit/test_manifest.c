/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest: built once whoever asks first, the same again after a release, and the check by the
 * output's table. What the schemas mean is test_schemas.py's.
 */
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "cleanup.h"
#include "manifest.h"
#include "output_schema.h"
#include "tap_suite.h"

static void *ask(void *unused)
{
    (void)unused;
    return (void *)(uintptr_t)manifest_text();
}

START_TEST(is_built_once)
{
    pthread_t threads[8];
    void *texts[COUNT_OF(threads)];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_int_eq(pthread_join(threads[i], &texts[i]), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_ptr_eq(texts[i], manifest_text());
    CLEANUP_FREE char *first = strdup(manifest_text());
    manifest_release();
    ck_assert_str_eq(manifest_text(), first);
    manifest_release();
    manifest_release();
}
END_TEST

START_TEST(says_what_it_must)
{
    json_auto_t *manifest = json_loads(manifest_text(), 0, NULL);
    ck_assert_int_eq(json_integer_value(json_object_get(manifest, "manifest_version")), 1);
    ck_assert_str_eq(json_string_value(json_object_get(manifest, "provider")), "code-execute");
    ck_assert_str_eq(json_string_value(json_object_get(manifest, "abi")), "1.0");
    const char *name;
    const char *alias;
    const char *capability;
    ck_assert_int_eq(json_unpack(manifest, "{s:[{s:s, s:[s], s:{s:[s]}}]}", "tools", "name", &name,
                                 "aliases", &alias, "capabilities", "required", &capability),
                     0);
    ck_assert_str_eq(name, "code_execute");
    ck_assert_str_eq(alias, "sandbox.exec");
    ck_assert_str_eq(capability, "sandbox.exec");
    ck_assert_uint_eq(json_array_size(json_object_get(manifest, "errors")), ERROR_CODE_COUNT);
    manifest_release();
}
END_TEST

static const char good_result[] =
    "{\"status\":\"completed\",\"stdout\":\"\",\"stderr\":\"\",\"exit_code\":0,\"signal\":null,"
    "\"timed_out\":false,\"truncated\":{\"stdout\":false,\"stderr\":false,\"stdout_bytes\":0,"
    "\"stderr_bytes\":0},\"duration_ms\":1,\"queued_ms\":0,\"mode\":\"process\",\"policy_sha256\":"
    "null,\"run_id\":\"a\","
    "\"cause\":"
    "\"exit\","
    "\"usage\":{\"wall_ms\":1,\"user_ms\":1,\"system_ms\":1,\"peak_memory_bytes\":1,\"processes\":"
    "null,\"output_bytes\":1},"
    "\"limits\":{\"wall_ms\":1},\"isolation\":{\"requested\":[],\"applied\":[\"seccomp\"],"
    "\"missing\":[],\"details\":{\"x\":1}},\"files\":[],\"results\":[],\"approval\":null,"
    "\"notes\":[],\"error\":null}";

static const struct {
    const char *pointer; /* one member */
    const char *value;   /* NULL: taken away */
    const char *message;
} faults[] = {
    {"status", "\"done\"", "result: /status: not in the closed set"},
    {"status", NULL, "result: /status: missing"},
    {"status", "null", "result: /status: not a string"},
    {"exit_code", "\"0\"", "result: /exit_code: not an integer"},
    {"cause", "\"boredom\"", "result: /cause: not in the closed set"},
    {"timed_out", "0", "result: /timed_out: not a boolean"},
    {"truncated", "{}", "result: /truncated/stdout: missing"},
    {"usage", "null", "result: /usage: must be an object"},
    {"limits", "{\"a\":\"b\"}", "result: /limits/a: not an integer"},
    {"notes", "[1]", "result: /notes/0: of another type"},
    {"files", "[1]", "result: /files/0: of another type"},
    {"approval", "{\"decision\":null}", "result: /approval/id: missing"},
    {"error", "{\"code\":\"a\",\"message\":\"b\",\"hint\":\"c\",\"retryable\":1}",
     "result: /error/retryable: not a boolean"},
    {"error", "{\"code\":\"a\",\"message\":\"b\",\"hint\":\"c\",\"retryable\":true}",
     "result: /error/retry_after_ms: missing"},
    {"traceparent", "null", "result: /traceparent: not a string"},
    {"surplus", "1", "result: unknown members"},
};

START_TEST(checks_results)
{
    struct error error;
    json_auto_t *result = json_loads(good_result, 0, NULL);
    ck_assert_msg(output_check(result, &error), "%s", error.message);
    if (faults[_i].value == NULL)
        json_object_del(result, faults[_i].pointer);
    else
        json_object_set_new(result, faults[_i].pointer,
                            json_loads(faults[_i].value, JSON_DECODE_ANY, NULL));
    ck_assert(!output_check(result, &error));
    ck_assert_str_eq(error.message, faults[_i].message);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("manifest"), tcase_create("output")};
    tcase_add_test(cases[0], is_built_once);
    tcase_add_test(cases[0], says_what_it_must);
    tcase_add_loop_test(cases[1], checks_results, 0, COUNT_OF(faults));
    return run_suite("manifest", cases, COUNT_OF(cases));
}
