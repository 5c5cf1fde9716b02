/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Content checks of the gateway and of the operator's command, without either: what comes of each
 * end that the command can have, and that neither a failed call nor memory which ends lets anything
 * through. Single-threaded.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../support/failing_memory.h"
#include "base/cleanup.h"
#include "call/call.h"
#include "content/content.h"
#include "tap_suite.h"

bool __wrap_run_execute(struct run *run, struct run_outcome *ret, struct error *error);
int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);

static const char one_finding[] = "{\"findings\":[{\"file\":\"a.txt\",\"line\":1,\"column\":2,"
                                  "\"rule\":\"r\",\"message\":\"m\"}]}";

static bool no_memory_file;
static bool lost;           /* the backend, during the command */
static size_t answer_times; /* that the command prints one_finding */
static struct run_event end;
static bool asked_well; /* the last time; asserted later, for libcheck allocates */

int __wrap_memfd_create(const char *name, unsigned flags)
{
    if (!no_memory_file)
        return __real_memfd_create(name, flags);
    errno = EMFILE;
    return -1;
}

bool __wrap_run_execute(struct run *run, struct run_outcome *ret, struct error *error)
{
    asked_well = run->description->isolation == RUN_ISOLATION_NONE &&
                 strcmp(run->description->argv[0], "/c") == 0;
    if (lost) {
        error_set(error, ERROR_BACKEND_FAILED, "lost");
        return false;
    }
    for (size_t i = 0; i < answer_times; i++)
        output_capture_add(&run->output.capture, one_finding, strlen(one_finding));
    *ret = (struct run_outcome){.started = true, .ended = end};
    return true;
}

static void answer_as_host(void *user, const char *request_json, char *answer, size_t capacity,
                           size_t *length, uint32_t *verdict)
{
    (void)user;
    asked_well = strstr(request_json, "\"content_base64\":\"eA==\"") != NULL &&
                 capacity >= sizeof(one_finding);
    *length = sizeof(one_finding) - 1;
    memcpy(answer, one_finding, *length);
    *verdict = TOOL_VERDICT_ALLOW;
}

static void set_up(void)
{
    memory_left = -1;
    no_memory_file = false;
    lost = false;
    answer_times = 1;
    end = (struct run_event){.type = RUN_EVENT_ENDED, .cause = RUN_CAUSE_EXIT};
}

#define REQUIRED "\"action\":\"warn\",\"required\":true"
#define COMMAND  "\"command\":{" REQUIRED ",\"argv\":[\"/c\",\"d\"],\"timeout_ms\":1000}"
#define HOST     "\"host\":{" REQUIRED "}"

static struct call *new_call(const char *terms)
{
    static const char input[] = "{\"language\":\"sh\",\"code\":\"true\",\"files\":[{\"path\":\"b\","
                                "\"content\":\"x\"},{\"path\":\"a.txt\",\"content\":\"x\"}]}";
    const struct tool_host host = {.struct_size = sizeof(host),
                                   .abi_version = TOOL_ABI_VERSION,
                                   .check_content =
                                       strcmp(terms, HOST) == 0 ? answer_as_host : NULL};
    char policy[256];
    struct error error;
    struct call *call = calloc(1, sizeof(*call));
    call_init(call, &host);
    (void)snprintf(policy, sizeof(policy), "{\"content_checks\":{%s}}", terms);
    call->configuration.mode = SANDBOX_MODE_PROCESS;
    call->configuration.policy = policy_load_text("test", policy, strlen(policy), &error);
    ck_assert_msg(call->configuration.policy != NULL, "%s", error.message);
    call->language = policy_find_language(call->configuration.policy, "sh");
    call->parsed =
        request_parse(REQUEST_CODE_EXECUTE, input, sizeof(input) - 1, &call->request, &error);
    ck_assert_msg(call->parsed, "%s", error.message);
    return call;
}

static void cleanup_call(struct call **call)
{
    call_clear(*call);
    free(*call);
}

START_TEST(a_finding_is_taken)
{
    struct error error;
    CLEANUP(cleanup_call) struct call *call = new_call(_i == 0 ? HOST : COMMAND);
    ck_assert_int_eq(content_needs_process(call), _i != 0);
    ck_assert_msg(content_check(call, &error), "%s", error.message);
    ck_assert(asked_well);
    ck_assert_uint_eq(call->content.count, 1);
    ck_assert_uint_eq(call->content.list[0].file, 2);
    ck_assert_str_eq(call->content.list[0].rule, "r");
}
END_TEST

static const struct {
    struct run_event end;
    const char *message;
} ends[] = {
    {{.cause = RUN_CAUSE_EXIT, .exit_code = 1}, "it did not end with status 0"},
    {{.cause = RUN_CAUSE_WALL_TIMEOUT, .exit_code = -1}, "wall_timeout"},
    {{.cause = RUN_CAUSE_INFRASTRUCTURE,
      .exit_code = -1,
      .failure = RUN_FAILURE_RUNTIME_MISSING,
      .message = "/c"},
     "runtime not found: /c"},
};

static void expect_failed(const char *why)
{
    struct error error;
    char wanted[256];
    CLEANUP(cleanup_call) struct call *call = new_call(COMMAND);
    ck_assert(!content_check(call, &error));
    (void)snprintf(wanted, sizeof(wanted),
                   "content refused: the content check of the policy's command failed: %s", why);
    ck_assert_int_eq(error.code, ERROR_CONTENT_REFUSED);
    ck_assert_msg(strncmp(error.message, wanted, strlen(wanted)) == 0, "%s", error.message);
    ck_assert_uint_eq(call->content.count, 0);
}

START_TEST(a_command_without_a_good_end_is_no_check)
{
    end = ends[_i].end;
    expect_failed(ends[_i].message);
}
END_TEST

START_TEST(a_command_that_cannot_run_or_says_too_much_is_no_check)
{
    lost = true;
    expect_failed("lost");
    lost = false;
    no_memory_file = true;
    expect_failed("no memory file for the standard input");
    no_memory_file = false;
    answer_times = 65536;
    expect_failed("it printed too much");
}
END_TEST

START_TEST(a_cancelled_command_is_a_cancelled_call)
{
    struct error error;
    CLEANUP(cleanup_call) struct call *call = new_call(COMMAND);
    end.cause = RUN_CAUSE_CANCELLED;
    ck_assert(!content_check(call, &error));
    ck_assert_int_eq(error.code, ERROR_CANCELLED);
}
END_TEST

/* Refused with OUT_OF_MEMORY, or with a failed check; never let through unread. */
START_TEST(no_memory_lets_nothing_through)
{
    bool through = false;
    bool told = false;
    long failing = 0;
    for (; !through; failing++) {
        struct error error = {.code = ERROR_CODE_COUNT};
        CLEANUP(cleanup_call) struct call *call = new_call(_i == 0 ? HOST : COMMAND);
        memory_left = failing;
        bool passed = content_check(call, &error);
        through = passed && memory_left >= 0; /* what fails may be a note */
        memory_left = -1;
        ck_assert(passed || error.code == ERROR_OUT_OF_MEMORY ||
                  error.code == ERROR_CONTENT_REFUSED);
        ck_assert_uint_eq(call->content.count, passed ? 1 : 0);
        told |= error.code == ERROR_OUT_OF_MEMORY;
    }
    ck_assert(told);
    ck_assert_int_gt(failing, 5);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("outside")};
    tcase_add_checked_fixture(cases[0], set_up, NULL);
    tcase_add_loop_test(cases[0], a_finding_is_taken, 0, 2);
    tcase_add_loop_test(cases[0], a_command_without_a_good_end_is_no_check, 0, COUNT_OF(ends));
    tcase_add_test(cases[0], a_command_that_cannot_run_or_says_too_much_is_no_check);
    tcase_add_test(cases[0], a_cancelled_command_is_a_cancelled_call);
    tcase_add_loop_test(cases[0], no_memory_lets_nothing_through, 0, 2);
    return run_suite("content outside", cases, COUNT_OF(cases));
}
