/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: what of a request and a policy goes into the run's description, and what stops it; and that
 * no half of one is used when memory ends. Single-threaded.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../support/failing_memory.h"
#include "base/cleanup.h"
#include "content/content_checkers.h"
#include "gate/cell.h"
#include "gate/gate.h"
#include "planned_call.h"
#include "run/describe.h"
#include "tap_suite.h"

#define PYTHON(members) "{\"language\":\"python\",\"code\":\"x\"" members "}"

static const struct {
    const char *policy;
    enum sandbox_mode mode;
    const char *input;
    enum error_code code;
    const char *message; /* its beginning */
} refused[] = {
    {"{\"languages\":{\"python\":null}}", SANDBOX_MODE_PROCESS, PYTHON(""),
     ERROR_LANGUAGE_NOT_ALLOWED, "the policy does not offer the language python"},
    {"{}", SANDBOX_MODE_PROCESS, PYTHON(",\"session\":\"s\""), ERROR_NOT_SUPPORTED,
     "request: /session: the policy keeps no sessions"},
    {"{\"sessions\":{\"max_total\":1}}", SANDBOX_MODE_PROCESS,
     "{\"language\":\"perl\",\"code\":\"x\",\"session\":\"new\"}", ERROR_NOT_SUPPORTED,
     "request: /session: this language has no sessions"},
    {"{\"sessions\":{\"max_total\":1},\"languages\":{\"python\":{\"prepare\":null}}}",
     SANDBOX_MODE_PROCESS, PYTHON(",\"session\":\"new\""), ERROR_NOT_SUPPORTED,
     "request: /session: the policy's command of this language keeps no sessions"},
    {"{\"sessions\":{\"max_total\":1}}", SANDBOX_MODE_PROCESS,
     PYTHON(",\"session\":\"s_1\",\"secrets\":{\"A\":\"{{secret:a}}\"}"), ERROR_NOT_SUPPORTED,
     "request: /session: a session gets its secrets with its first cell"},
    {"{}", SANDBOX_MODE_PROCESS, PYTHON(",\"image\":\"python:3.11-slim\""), ERROR_NOT_SUPPORTED,
     "request: /image: mode process has no images"},
    {"{}", SANDBOX_MODE_DOCKER, PYTHON(",\"image\":\"other\""), ERROR_POLICY_DENIED,
     "policy denied: image"},
    {"{\"docker\":{\"images\":{\"python\":null}}}", SANDBOX_MODE_DOCKER, PYTHON(""),
     ERROR_LANGUAGE_NOT_ALLOWED, "the policy has no docker image for the language python"},
    {"{}", SANDBOX_MODE_PROCESS, PYTHON(",\"timeout_ms\":300001"), ERROR_LIMIT_TOO_HIGH,
     "request: /timeout_ms: 300001 is more"},
    {"{}", SANDBOX_MODE_PROCESS, PYTHON(",\"files\":[{\"path\":\"main.py\",\"content\":\"\"}]"),
     ERROR_INVALID_INPUT, "request: /files/0/path: main.py is the program's own file"},
    {"{}", SANDBOX_MODE_PROCESS,
     PYTHON(",\"files\":[{\"path\":\"a\",\"content\":\"\"},{\"path\":\"main.py/a\",\"content\":"
            "\"\"}]"),
     ERROR_INVALID_INPUT, "request: /files/1/path: main.py is the program's own file"},
};

START_TEST(names_that_shells_keep_are_names)
{
    struct error error;
    const char *input = PYTHON(",\"env\":{\"OPTIND\":\"1\",\"UID\":\"1\",\"_\":\"\"}");
    CLEANUP(cleanup_call) struct call *process = new_call("{}", SANDBOX_MODE_PROCESS, input);
    CLEANUP(cleanup_call) struct call *docker = new_call("{}", SANDBOX_MODE_DOCKER, input);
    ck_assert_msg(plan_run(process, &error), "%s", error.message);
    ck_assert_msg(plan_run(docker, &error), "%s", error.message);
}
END_TEST

START_TEST(refuses_what_cannot_be_planned)
{
    struct error error;
    CLEANUP(cleanup_call)
    struct call *call = new_call(refused[_i].policy, refused[_i].mode, refused[_i].input);
    ck_assert(!plan_run(call, &error) || !cell_plan(call, &error));
    ck_assert_int_eq(error.code, refused[_i].code);
    ck_assert_msg(strncmp(error.message, refused[_i].message, strlen(refused[_i].message)) == 0,
                  "%s", error.message);
}
END_TEST

static const struct {
    const char *policy;
    enum sandbox_mode mode;
    const char *input;
    const char *command; /* argv[0] */
    const char *image;   /* NULL: none */
} planned[] = {
    {"{}", SANDBOX_MODE_PROCESS, PYTHON(""), "python3", NULL},
    {"{}", SANDBOX_MODE_PROCESS, PYTHON(",\"files\":[{\"path\":\"main.pyc\",\"content\":\"\"}]"),
     "python3", NULL},
    {"{}", SANDBOX_MODE_PROCESS, "{\"language\":\"typescript\",\"code\":\"x\"}", "ts-node", NULL},
    {"{}", SANDBOX_MODE_DOCKER, "{\"language\":\"typescript\",\"code\":\"x\"}", "node",
     "node:22-slim"},
    {"{}", SANDBOX_MODE_DOCKER, PYTHON(""), "python3", "python:3.11-slim"},
    {"{\"docker\":{\"offered\":[\"mine\"]}}", SANDBOX_MODE_DOCKER, PYTHON(",\"image\":\"mine\""),
     "python3", "mine"},
    {"{\"docker\":{\"offered\":[\"mine\"],\"images\":{\"python\":null}}}", SANDBOX_MODE_DOCKER,
     PYTHON(",\"image\":\"mine\""), "python3", "mine"},
};

START_TEST(plans_the_command_and_its_image)
{
    struct error error;
    CLEANUP(cleanup_call)
    struct call *call = new_call(planned[_i].policy, planned[_i].mode, planned[_i].input);
    ck_assert_msg(plan_run(call, &error), "%s", error.message);
    ck_assert_str_eq(call->description.argv[0], planned[_i].command);
    ck_assert_pstr_eq(call->description.image.name, planned[_i].image);
}
END_TEST

/* More time than the usual needs as much of the processor, up to the policy's ceiling for that. */
START_TEST(more_time_is_more_of_the_processor)
{
    static const char policy[] = "{\"limits\":{\"wall_ms\":{\"default\":100,\"max\":9000},"
                                 "\"cpu_ms\":{\"default\":100,\"max\":5000}}}";
    static const struct {
        const char *input;
        uint64_t wall_ms;
        uint64_t cpu_ms;
    } times[] = {{PYTHON(""), 100, 100},
                 {PYTHON(",\"timeout_ms\":50"), 50, 100},
                 {PYTHON(",\"timeout_ms\":4000"), 4000, 4000},
                 {PYTHON(",\"timeout_ms\":8000"), 8000, 5000}};
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        struct error error;
        CLEANUP(cleanup_call)
        struct call *call = new_call(policy, SANDBOX_MODE_PROCESS, times[i].input);
        ck_assert(plan_run(call, &error));
        ck_assert_uint_eq(call->description.limits.wall_ms, times[i].wall_ms);
        ck_assert_uint_eq(call->description.limits.cpu_ms, times[i].cpu_ms);
    }
}
END_TEST

static const char rich_policy[] =
    "{\"languages\":{\"python\":{\"read_only\":[\"/opt\"]}},\"network\":{\"allowed\":true},"
    "\"environment\":{\"B\":\"2\"},"
    "\"docker\":{\"host\":\"h\",\"context\":\"c\",\"certificates\":\"/c\",\"runtime\":\"r\"},"
    "\"content_checks\":{\"languages\":{\"python\":{\"action\":\"warn\",\"allowed_modules\":[]"
    "}},\"command\":{\"action\":\"warn\",\"argv\":[\"/c\",\"d\"],"
    "\"timeout_ms\":7}}}";

START_TEST(no_half_of_a_run_is_planned)
{
    enum sandbox_mode mode = _i == 0 ? SANDBOX_MODE_PROCESS : SANDBOX_MODE_DOCKER;
    bool planned_all = false;
    long failing = 0;
    for (; !planned_all; failing++) {
        struct error error;
        CLEANUP(cleanup_call)
        struct call *call = new_call(rich_policy, mode,
                                     PYTHON(",\"args\":[\"a\"],\"env\":{\"A\":\"1\"},\"network\":"
                                            "true,\"files\":[{\"path\":\"a\",\"content\":\"\"}]"));
        memory_left = failing;
        planned_all = plan_run(call, &error);
        memory_left = -1;
        ck_assert_msg(planned_all || error.code == ERROR_OUT_OF_MEMORY, "%s", error.message);
    }
    ck_assert_int_gt(failing, 20); /* or the wrapping did not work */
}
END_TEST

/* By the operator's command, and by the checker in each mode that there is. */
START_TEST(no_half_of_a_content_check_is_planned)
{
    bool planned_all = false;
    long failing = 0;
    const enum sandbox_mode mode = (enum sandbox_mode)(_i % SANDBOX_MODE_COUNT);
    const enum sandbox_mode checked_in = sandbox_mode_row(mode)->checked_in;
    CLEANUP(cleanup_call) struct call *call = new_call(rich_policy, mode, PYTHON(""));
    call->language = policy_find_language(call->configuration.policy, "python");
    for (; !planned_all; failing++) {
        CLEANUP(run_description_clear) struct run_description description = {.file_count = 0};
        memory_left = failing;
        planned_all = _i < SANDBOX_MODE_COUNT ? content_plan_check(call, 4, &description)
                                              : content_plan_command(call, &description);
        memory_left = -1;
        if (!planned_all)
            continue;
        ck_assert_str_eq(description.argv[0], _i < SANDBOX_MODE_COUNT ? "python3" : "/c");
        ck_assert_int_eq(description.isolation, _i < SANDBOX_MODE_COUNT
                                                    ? sandbox_mode_row(checked_in)->isolation
                                                    : RUN_ISOLATION_NONE);
        ck_assert_uint_eq(description.limits.wall_ms,
                          _i < SANDBOX_MODE_COUNT ? call->configuration.policy->content.timeout_ms
                                                  : 7);
    }
    ck_assert_int_gt(failing, 8);
}
END_TEST

START_TEST(no_half_of_what_runs_nothing_is_planned)
{
    struct error error;
    struct policy *policy = policy_load_text("test", rich_policy, sizeof(rich_policy) - 1, &error);
    const struct trial_subject subject = {
        .policy = policy,
        .mode = SANDBOX_MODE_DOCKER,
        .language = _i == 0 || _i == 3 ? policy_find_language(policy, "python") : NULL,
        .image = "i",
        .network = true,
    };
    bool planned_all = false;
    long failing = 0;
    for (; !planned_all; failing++) {
        CLEANUP(run_description_clear) struct run_description description = {.file_count = 0};
        memory_left = failing;
        planned_all = _i < 2    ? describe_trial(&subject, &description)
                      : _i == 2 ? describe_sweep(policy, SANDBOX_MODE_DOCKER, &description)
                                : describe_preparation(&subject, "numpy", &description);
        memory_left = -1;
        ck_assert_int_eq(description.argv != NULL, planned_all);
        ck_assert(!planned_all || _i != 2 || description.purpose == RUN_PURPOSE_SWEEP);
        ck_assert(!planned_all || _i != 3 || description.purpose == RUN_PURPOSE_PREPARE);
    }
    ck_assert_int_gt(failing, 10);
    policy_unref(policy);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("plan"), tcase_create("memory")};
    tcase_add_loop_test(cases[0], refuses_what_cannot_be_planned, 0, COUNT_OF(refused));
    tcase_add_loop_test(cases[0], plans_the_command_and_its_image, 0, COUNT_OF(planned));
    tcase_add_test(cases[0], names_that_shells_keep_are_names);
    tcase_add_test(cases[0], more_time_is_more_of_the_processor);
    tcase_add_loop_test(cases[1], no_half_of_a_run_is_planned, 0, 2);
    tcase_add_loop_test(cases[1], no_half_of_a_content_check_is_planned, 0, SANDBOX_MODE_COUNT + 1);
    tcase_add_loop_test(cases[1], no_half_of_what_runs_nothing_is_planned, 0, 4);
    return run_suite("plan", cases, COUNT_OF(cases));
}
