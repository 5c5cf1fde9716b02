/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_delivery: where a secret is put, what stops it, and that memory that ends is said so.
 * Single-threaded.
 */
#include "gate/gate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/failing_memory.h"
#include "base/cleanup.h"
#include "tap_suite.h"
#include "vocabulary/environment.h"

#define NEVER_FAILS 200 /* allocations; more than a delivery makes */

#define AS_FILES \
    "{\"secrets\":{\"allowed\":[\"*\"],\"delivery\":{\"*\":\"file\",\"v\":\"environment\"}}}"
#define CALL(members) \
    "{\"language\":\"python\",\"code\":\"x\",\"secrets\":{\"A\":\"{{secret:one}}\"}" members "}"
#define FILE_AT(path) ",\"files\":[{\"path\":\"" path "\",\"content\":\"\"}]"

static const char *host_value;
static size_t host_value_length;

static void read_secret(void *user, const char *name, void *buffer, size_t capacity, size_t *length,
                        uint32_t *verdict)
{
    PAUSE_FAILING_MEMORY;
    (void)user;
    (void)name;
    if (host_value_length > 0) /* memcpy(3) takes no NULL, not even of length 0 */
        memcpy(buffer, host_value, host_value_length < capacity ? host_value_length : capacity);
    *length = host_value_length;
    *verdict = host_value_length > 0 ? TOOL_VERDICT_ALLOW : TOOL_VERDICT_DENY;
}

static void host_says(const char *value, size_t length)
{
    host_value = value;
    host_value_length = length;
}

/* The call as the gate has it when it delivers; on the heap, as there. */
static struct call *new_call(enum sandbox_mode mode, const char *input)
{
    static const struct tool_host host = {
        .struct_size = sizeof(host),
        .abi_version = TOOL_ABI_VERSION,
        .read_secret = read_secret,
    };
    struct error error;
    struct call *call = calloc(1, sizeof(*call));
    call_init(call, &host);
    call->configuration.mode = mode;
    call->configuration.policy = policy_load_text("test", AS_FILES, strlen(AS_FILES), &error);
    ck_assert_msg(call->configuration.policy != NULL, "%s", error.message);
    call->parsed =
        request_parse(REQUEST_CODE_EXECUTE, input, strlen(input), &call->request, &error);
    ck_assert_msg(call->parsed, "%s", error.message);
    ck_assert_msg(plan_run(call, &error), "%s", error.message);
    return call;
}

static void cleanup_call(struct call **call)
{
    call_clear(*call);
    free(*call);
}

static const struct run_file *find_file(const struct call *call, const char *path)
{
    for (size_t i = 0; i < call->description.file_count; i++)
        if (strcmp(call->description.files[i].path, path) == 0)
            return &call->description.files[i];
    return NULL;
}

START_TEST(a_secret_is_one_file_however_many_variables_name_it)
{
    struct error error;
    CLEANUP(cleanup_call)
    struct call *call =
        new_call(SANDBOX_MODE_PROCESS,
                 "{\"language\":\"python\",\"code\":\"x\",\"secrets\":{\"A\":\"{{secret:one}}\","
                 "\"B\":\"{{secret:two}}\",\"C\":\"{{secret:two}}\",\"D\":\"{{secret:v}}\"}}");
    size_t before = call->description.file_count;
    host_says("hunter2hunter2", 14);
    ck_assert_msg(deliver_secrets(call, &error), "%s", error.message);
    ck_assert_uint_eq(call->description.private_file_count, 2);
    ck_assert_uint_eq(call->description.file_count, before + 2);
    const struct run_file *file = find_file(call, ".secrets/two");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(file->length, 14);
    ck_assert_ptr_nonnull(find_file(call, ".secrets/one"));
    ck_assert(environment_has(call->description.environment, "A"));
    ck_assert(environment_has(call->description.environment, "C"));
    ck_assert(environment_has(call->description.environment, "D"));
    ck_assert_uint_eq(json_array_size(call->notes), 0);
}
END_TEST

START_TEST(one_too_short_to_be_redacted_is_told)
{
    struct error error;
    CLEANUP(cleanup_call) struct call *call = new_call(SANDBOX_MODE_PROCESS, CALL(""));
    host_says("a", 1);
    ck_assert_msg(deliver_secrets(call, &error), "%s", error.message);
    ck_assert_uint_eq(json_array_size(call->notes), 1);
}
END_TEST

START_TEST(without_secrets_nobody_is_asked)
{
    struct error error;
    CLEANUP(cleanup_call)
    struct call *call = new_call(SANDBOX_MODE_NONE,
                                 "{\"language\":\"python\",\"code\":\"x\"" FILE_AT(".secrets") "}");
    host_says(NULL, 0);
    ck_assert(deliver_secrets(call, &error));
    ck_assert_ptr_null(call->redaction);
}
END_TEST

static const struct {
    enum sandbox_mode mode;
    const char *input;
    const char *value;
    size_t length;
    enum error_code code; /* 0: it is delivered */
    const char *message;
} cases[] = {
    {SANDBOX_MODE_PROCESS, CALL(""), "hunter2hunter2", 14, 0, NULL},
    {SANDBOX_MODE_PROCESS, CALL(FILE_AT("a")), "hunter2hunter2", 14, 0, NULL},
    {SANDBOX_MODE_PROCESS, CALL(FILE_AT(".secretsx")), "hunter2hunter2", 14, 0, NULL},
    {SANDBOX_MODE_PROCESS, CALL(FILE_AT(".secrets/b")), "hunter2hunter2", 14, ERROR_SECRET_UNUSABLE,
     "the request has a file in .secrets"},
    {SANDBOX_MODE_PROCESS, CALL(FILE_AT(".secrets")), "hunter2hunter2", 14, ERROR_SECRET_UNUSABLE,
     "the request has a file in .secrets"},
    {SANDBOX_MODE_NONE, CALL(""), "hunter2hunter2", 14, ERROR_SECRET_UNUSABLE,
     "which mode none does not have"},
    {SANDBOX_MODE_PROCESS, CALL(""), NULL, 0, ERROR_UNKNOWN_SECRET, "unknown secret: one"},
    {SANDBOX_MODE_PROCESS,
     "{\"language\":\"python\",\"code\":\"x\",\"secrets\":{\"A\":\"{{secret:v}}\"}}", "hun\0er2", 7,
     ERROR_SECRET_UNUSABLE, "contains a NUL"},
};

START_TEST(a_secret_has_its_place_or_is_refused)
{
    struct error error = {0};
    CLEANUP(cleanup_call) struct call *call = new_call(cases[_i].mode, cases[_i].input);
    host_says(cases[_i].value, cases[_i].length);
    bool delivered = deliver_secrets(call, &error);
    ck_assert_msg(delivered == (cases[_i].code == 0), "%s", error.message);
    if (delivered)
        return;
    ck_assert_int_eq(error.code, cases[_i].code);
    ck_assert_msg(strstr(error.message, cases[_i].message) != NULL, "%s", error.message);
    ck_assert_uint_eq(call->description.private_file_count, 0);
    ck_assert(!environment_has(call->description.environment, "A"));
}
END_TEST

START_TEST(one_that_cannot_be_redacted_is_not_delivered)
{
    static char lines[60000];
    struct error error;
    CLEANUP(cleanup_call) struct call *call = new_call(SANDBOX_MODE_PROCESS, CALL(""));
    size_t length = 0;
    while (length + 12 < sizeof(lines))
        length += (size_t)snprintf(lines + length, 12, "line%06zu\n", length);
    host_says(lines, length);
    ck_assert(!deliver_secrets(call, &error));
    ck_assert_msg(strstr(error.message, "too many lines") != NULL, "%s", error.message);
    ck_assert_uint_eq(call->description.private_file_count, 0);
}
END_TEST

/* As a file and as a variable. */
START_TEST(says_so_where_memory_ends)
{
    long allocations = 0;
    for (;; allocations++) {
        struct error error;
        CLEANUP(cleanup_call)
        struct call *call = new_call(
            SANDBOX_MODE_PROCESS,
            "{\"language\":\"python\",\"code\":\"x\",\"secrets\":{\"A\":\"{{secret:one}}\","
            "\"B\":\"{{secret:v}}\"}}");
        host_says("hunter2hunter2", 14);
        ck_assert_int_lt(allocations, NEVER_FAILS);
        memory_left = allocations;
        bool delivered = deliver_secrets(call, &error);
        bool failed = memory_left < 0;
        memory_left = -1;
        ck_assert_int_ne(delivered, failed);
        if (delivered)
            break;
        ck_assert_int_eq(error.code, ERROR_OUT_OF_MEMORY);
    }
    ck_assert_int_gt(allocations, 5);
}
END_TEST

int main(void)
{
    TCase *tests[] = {tcase_create("secret_delivery")};
    tcase_add_test(tests[0], a_secret_is_one_file_however_many_variables_name_it);
    tcase_add_test(tests[0], one_too_short_to_be_redacted_is_told);
    tcase_add_test(tests[0], without_secrets_nobody_is_asked);
    tcase_add_loop_test(tests[0], a_secret_has_its_place_or_is_refused, 0, COUNT_OF(cases));
    tcase_add_test(tests[0], one_that_cannot_be_redacted_is_not_delivered);
    tcase_add_test(tests[0], says_so_where_memory_ends);
    return run_suite("secret_delivery", tests, COUNT_OF(tests));
}
