/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status: what is said of a configuration, a sweep and a machine without docker's backend. Through
 * the exports, with fake_backend.c beside this program as the backend of process mode.
 */
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "gate_support.h"
#include "tap_suite.h"

static json_t *read_status(char *text)
{
    json_t *status = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(status);
    tool_free(text);
    return status;
}

static const char *mode_of(const json_t *entry)
{
    return json_string_value(json_object_get(entry, "mode"));
}

START_TEST(a_sweep_is_told_by_mode)
{
    char *text = NULL;
    ck_assert_int_eq(tool_prepare("{\"sweep\":true}", &text), TOOL_OK);
    json_auto_t *status = read_status(text);
    json_t *sweep = json_object_get(status, "sweep");
    ck_assert_uint_eq(json_array_size(sweep), 2);
    json_t *docker = json_array_get(sweep, 0);
    ck_assert_str_eq(mode_of(docker), "docker");
    ck_assert(json_is_null(json_object_get(docker, "removed")));
    ck_assert_str_eq(error_code_of(docker), "backend_unavailable");
    json_t *process = json_array_get(sweep, 1);
    ck_assert_str_eq(mode_of(process), "process");
    ck_assert_int_eq(json_integer_value(json_object_get(process, "removed")), 0);
    ck_assert(json_is_null(json_object_get(process, "error")));
}
END_TEST

START_TEST(only_modes_that_are_allowed_are_swept)
{
    char *text = NULL;
    ck_assert_int_eq(
        prepare_policy("{\"modes\":{\"allowed\":[\"process\"]}}", "\"sweep\":true", &text),
        TOOL_OK);
    json_auto_t *status = read_status(text);
    json_t *sweep = json_object_get(status, "sweep");
    ck_assert_uint_eq(json_array_size(sweep), 1);
    ck_assert_str_eq(mode_of(json_array_get(sweep, 0)), "process");
}
END_TEST

/* It is done when it is asked for, and not whenever somebody looks. */
START_TEST(a_status_does_not_sweep)
{
    char *text = NULL;
    ck_assert_int_eq(tool_prepare("{\"sweep\":true}", NULL), TOOL_OK);
    ck_assert_int_eq(tool_status(&text), TOOL_OK);
    json_auto_t *status = read_status(text);
    ck_assert_ptr_null(json_object_get(status, "sweep"));
}
END_TEST

START_TEST(a_refused_configuration_is_not_ready)
{
    char *text = NULL;
    ck_assert_int_eq(tool_prepare("{\"sandbox\":\"dokcer\",\"sweep\":true}", &text), TOOL_NOT_RUN);
    for (int i = 0; i < 2; i++) { /* what tool_prepare() said, tool_status() says */
        json_auto_t *status = read_status(text);
        ck_assert_str_eq(error_code_of(status), "unknown_mode");
        ck_assert(json_is_false(json_object_get(status, "ready")));
        ck_assert_ptr_null(json_object_get(status, "sweep"));
        if (i == 0)
            ck_assert_int_eq(tool_status(&text), TOOL_OK);
    }
}
END_TEST

/* What is refused later leaves what was in force, and says so. */
START_TEST(a_later_refusal_leaves_the_one_in_force)
{
    char *text = NULL;
    ck_assert_int_eq(tool_prepare("{\"sandbox\":\"process\"}", NULL), TOOL_OK);
    ck_assert_int_eq(tool_prepare("{\"sandbox\":\"dokcer\"}", &text), TOOL_NOT_RUN);
    json_auto_t *status = read_status(text);
    ck_assert_str_eq(error_code_of(status), "unknown_mode");
    ck_assert_str_eq(mode_of(status), "process");
    ck_assert(json_is_true(json_object_get(status, "ready")));
}
END_TEST

/* The row of process mode's backend, from the status or from the answer to the question. */
static json_t *pool_of_process(const json_t *status)
{
    json_t *pools = json_object_get(status, "pools");
    ck_assert_uint_eq(json_array_size(pools), 3);
    return json_array_get(pools, 2);
}

static void expect_pool(const json_t *pool, const char *state, json_int_t ready)
{
    json_t *rows = json_object_get(pool, "sandboxes");
    static const char *const interpreters[] = {"none", "python", "node"};
    ck_assert_str_eq(json_string_value(json_object_get(pool, "backend")), "process");
    ck_assert_str_eq(json_string_value(json_object_get(pool, "state")), state);
    ck_assert_uint_eq(json_array_size(rows), COUNT_OF(interpreters));
    for (size_t i = 0; i < COUNT_OF(interpreters); i++) {
        const json_t *row = json_array_get(rows, i);
        ck_assert_str_eq(json_string_value(json_object_get(row, "interpreter")), interpreters[i]);
        ck_assert_int_eq(json_integer_value(json_object_get(row, "ready")), i == 0 ? ready : 0);
        ck_assert(json_is_integer(json_object_get(row, "memory_bytes")));
    }
}

/* Of fake_backend.c one is ready whenever it is asked; the first look must not have started it. */
START_TEST(a_running_backend_reports_its_pool)
{
    char *text = NULL;
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(tool_prepare("{\"counters\":true}", &text), TOOL_OK);
        json_auto_t *before = read_status(text);
        expect_pool(pool_of_process(before), "stopped", 0);
    }
    ck_assert_int_eq(tool_status(&text), TOOL_OK);
    json_auto_t *first = read_status(text); /* what is there before its trials start anything */
    expect_pool(pool_of_process(first), "stopped", 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(i == 0 ? tool_prepare("{\"counters\":true}", &text) : tool_status(&text),
                         TOOL_OK);
        json_auto_t *status = read_status(text);
        expect_pool(pool_of_process(status), "answered", 1);
    }
    tool_shutdown();
    ck_assert_int_eq(tool_prepare("{\"counters\":true}", &text), TOOL_OK);
    json_auto_t *after = read_status(text);
    expect_pool(pool_of_process(after), "stopped", 0);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("status")};
    tcase_set_timeout(cases[0], 30);
    tcase_add_test(cases[0], a_sweep_is_told_by_mode);
    tcase_add_test(cases[0], only_modes_that_are_allowed_are_swept);
    tcase_add_test(cases[0], a_status_does_not_sweep);
    tcase_add_test(cases[0], a_refused_configuration_is_not_ready);
    tcase_add_test(cases[0], a_later_refusal_leaves_the_one_in_force);
    tcase_add_test(cases[0], a_running_backend_reports_its_pool);
    return run_suite("status", cases, COUNT_OF(cases));
}
