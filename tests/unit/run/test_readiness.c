/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readiness: what is remembered of trials, what their ends are called, and the sweep. The backend's
 * answers are this program's. Single-threaded.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "run/backend_client.h"
#include "run/readiness.h"
#include "run/run.h"
#include "tap_suite.h"

bool __wrap_run_execute(struct run *run, struct run_outcome *ret, struct error *error);
bool __wrap_backend_exists(enum sandbox_mode mode, struct error *error);
bool __wrap_describe_sweep(const struct policy *policy, enum sandbox_mode mode,
                           struct run_description *ret);
bool __real_describe_sweep(const struct policy *policy, enum sandbox_mode mode,
                           struct run_description *ret);

static unsigned runs;
static bool no_backend;
static bool no_answer;
static bool no_memory;
static struct run_event answer; /* zeroes: ended well */

bool __wrap_backend_exists(enum sandbox_mode mode, struct error *error)
{
    (void)mode;
    if (no_backend)
        error_set(error, ERROR_BACKEND_UNAVAILABLE, "no backend");
    return !no_backend;
}

bool __wrap_run_execute(struct run *run, struct run_outcome *ret, struct error *error)
{
    (void)run;
    runs++;
    if (no_answer)
        error_set(error, ERROR_BACKEND_FAILED, "no answer");
    ret->ended = answer;
    return !no_answer;
}

bool __wrap_describe_sweep(const struct policy *policy, enum sandbox_mode mode,
                           struct run_description *ret)
{
    return !no_memory && __real_describe_sweep(policy, mode, ret);
}

static struct policy *policy;

static void load_policy(void)
{
    struct error error;
    policy = policy_load_builtin(&error);
    ck_assert_msg(policy != NULL, "%s", error.message);
}

static void release_policy(void)
{
    policy_unref(policy);
}

static bool check(const struct trial_subject *subject, char image_id[IMAGE_ID_SIZE],
                  struct error *error)
{
    static const struct tool_host host;
    const struct trial_watcher watcher = {.host = &host, .cancel_fd = -1};
    return readiness_check(subject, &watcher, image_id, error);
}

static struct trial_subject python_in(enum sandbox_mode mode)
{
    return (struct trial_subject){
        .policy = policy,
        .mode = mode,
        .language = policy_find_language(policy, "python"),
        .image = mode == SANDBOX_MODE_DOCKER ? "i:1" : NULL,
    };
}

static void expect_trials(const struct trial_subject *subject, unsigned wanted)
{
    char image_id[IMAGE_ID_SIZE] = "";
    struct error error;
    ck_assert_msg(check(subject, image_id, &error), "%s", error.message);
    ck_assert_uint_eq(runs, wanted);
    ck_assert_str_eq(image_id, answer.image_id);
}

START_TEST(a_success_is_remembered_for_the_same_subject_only)
{
    struct error error;
    static const char other_text[] = "{\"max_runs\":1}";
    struct policy *other_policy =
        policy_load_text("other", other_text, sizeof(other_text) - 1, &error);
    struct trial_subject subject = python_in(SANDBOX_MODE_DOCKER);
    (void)snprintf(answer.image_id, sizeof(answer.image_id), "sha256:1");
    expect_trials(&subject, 1);
    expect_trials(&subject, 1);
    subject.image = "i:2";
    expect_trials(&subject, 2);
    subject.network = true;
    expect_trials(&subject, 3);
    subject.language = policy_find_language(policy, "sh");
    expect_trials(&subject, 4);
    subject.mode = SANDBOX_MODE_PROCESS;
    expect_trials(&subject, 5);
    subject.policy = other_policy;
    expect_trials(&subject, 6);
    expect_trials(&subject, 6);
    subject = python_in(SANDBOX_MODE_DOCKER);
    expect_trials(&subject, 6);
    readiness_forget();
    expect_trials(&subject, 7);
    policy_unref(other_policy);
}
END_TEST

/* Beyond it, it begins again: what was remembered is tried once more, and nothing else happens. */
START_TEST(a_remembered_success_expires)
{
    struct trial_subject subject = python_in(SANDBOX_MODE_DOCKER);
    char name[32];
    subject.image = name;
    for (unsigned i = 1; i <= 65; i++) {
        (void)snprintf(name, sizeof(name), "i:%u", i);
        expect_trials(&subject, i);
    }
    expect_trials(&subject, 65);
    (void)snprintf(name, sizeof(name), "i:1");
    expect_trials(&subject, 66);
}
END_TEST

START_TEST(with_pull_always_the_cached_result_is_never_used)
{
    struct trial_subject subject = python_in(SANDBOX_MODE_DOCKER);
    subject.pull = RUN_PULL_ALWAYS;
    expect_trials(&subject, 1);
    expect_trials(&subject, 2);
    ck_assert(!readiness_is_known(&subject));
    subject.pull = RUN_PULL_NEVER;
    ck_assert(!readiness_is_known(&subject));
    expect_trials(&subject, 3);
    ck_assert(readiness_is_known(&subject));
    subject.pull = RUN_PULL_ALWAYS;
    ck_assert(!readiness_is_known(&subject));
}
END_TEST

/* What shows one directory of a file system shows another. */
START_TEST(a_file_system_is_tried_once)
{
    struct trial_subject subject = python_in(SANDBOX_MODE_PROCESS);
    expect_trials(&subject, 1);
    subject.workspace = "/srv/one";
    subject.workspace_id = (struct directory_id){.device = 7, .inode = 1};
    expect_trials(&subject, 2);
    subject.workspace = "/srv/two";
    subject.workspace_id.inode = 2;
    expect_trials(&subject, 2);
    subject.workspace_id.device = 8;
    expect_trials(&subject, 3);
}
END_TEST

static void expect_failure(enum error_code code)
{
    const struct trial_subject subject = python_in(SANDBOX_MODE_PROCESS);
    char image_id[IMAGE_ID_SIZE] = "";
    struct error error;
    ck_assert(!check(&subject, image_id, &error));
    ck_assert_msg(error.code == code, "%s", error.message);
}

START_TEST(a_failure_is_tried_again)
{
    no_backend = true;
    expect_failure(ERROR_BACKEND_UNAVAILABLE);
    ck_assert_uint_eq(runs, 0);
    no_backend = false;
    no_answer = true;
    expect_failure(ERROR_BACKEND_FAILED);
    no_answer = false;
    answer.cause = RUN_CAUSE_CANCELLED;
    expect_failure(ERROR_CANCELLED);
    answer.cause = RUN_CAUSE_SIGNAL;
    expect_failure(ERROR_BACKEND_FAILED);
    answer.cause = RUN_CAUSE_EXIT;
    answer.exit_code = 1;
    expect_failure(ERROR_BACKEND_FAILED);
    answer.exit_code = 0;
    answer.failure = RUN_FAILURE_RUNTIME_MISSING;
    expect_failure(ERROR_RUNTIME_NOT_FOUND);
    ck_assert_uint_eq(runs, 5);
    answer.failure = RUN_FAILURE_NONE;
    const struct trial_subject subject = python_in(SANDBOX_MODE_PROCESS);
    expect_trials(&subject, 6);
}
END_TEST

static const struct {
    uint32_t failure;
    uint32_t detail; /* the layer, or the code of a problem of the backend's own */
    const char *said;
    bool in_image;
    bool no_language;
    enum error_code code;
    const char *message;
    const char *hint; /* in it; NULL: whatever there is */
} ends[] = {
    {RUN_FAILURE_RUNTIME_MISSING, 0, "python3", false, false, ERROR_RUNTIME_NOT_FOUND,
     "runtime not found: python3", "install the package python3 on the gateway's machine"},
    {RUN_FAILURE_RUNTIME_MISSING, 0, "python3", true, false, ERROR_RUNTIME_NOT_FOUND,
     "runtime not found: python3", "the image i:1 does not have it"},
    {RUN_FAILURE_RUNTIME_MISSING, 0, "sh", false, true, ERROR_RUNTIME_NOT_FOUND,
     "runtime not found: sh", NULL},
    {RUN_FAILURE_EXEC, 0, "python3", false, false, ERROR_RUNTIME_NOT_FOUND,
     "runtime does not start: python3: Permission denied", NULL},
    {RUN_FAILURE_LAYER, LAYER_SECCOMP, "", false, false, ERROR_SANDBOX_UNAVAILABLE,
     "sandbox unavailable: seccomp: Permission denied", "CONFIG_SECCOMP_FILTER"},
    {RUN_FAILURE_LAYER, LAYER_LANDLOCK, "restrict", false, false, ERROR_SANDBOX_UNAVAILABLE,
     "sandbox unavailable: landlock: restrict: Permission denied", "CONFIG_SECURITY_LANDLOCK"},
    {RUN_FAILURE_WORKSPACE, LAYER_READ_ONLY_ROOT, "show_workspace: /w", false, false,
     ERROR_SANDBOX_UNAVAILABLE,
     "sandbox unavailable: read_only_root: show_workspace: /w: Permission denied",
     "search the directories"},
    {RUN_FAILURE_OTHER_WORKSPACE, 0, "show_workspace: /w", false, false, ERROR_APPROVAL_MISMATCH,
     "approval mismatch: the workspace is no longer the directory that was checked "
     "(show_workspace: /w)",
     "call again"},
    {RUN_FAILURE_LAYER, LAYER_USER_NAMESPACE, "", true, false, ERROR_SANDBOX_UNAVAILABLE,
     "sandbox unavailable: user_namespace: Permission denied", "userns-remap"},
    {RUN_FAILURE_LAYER, LAYER_LANDLOCK, "", true, false, ERROR_SANDBOX_UNAVAILABLE,
     "sandbox unavailable: landlock: Permission denied", "the engine's machine"},
    {RUN_FAILURE_LAYER, LAYER_SECCOMP, "", true, false, ERROR_SANDBOX_UNAVAILABLE,
     "sandbox unavailable: seccomp: Permission denied", "docker info"},
    {RUN_FAILURE_BACKEND, ERROR_BACKEND_FAILED, "e", true, false, ERROR_BACKEND_FAILED, "e",
     "the backend's remedy"},
    {RUN_FAILURE_IMAGE, ERROR_BACKEND_UNAVAILABLE, "e", true, false, ERROR_BACKEND_UNAVAILABLE, "e",
     "the backend's remedy"},
    {RUN_FAILURE_DESCRIPTION, 0, "d", false, false, ERROR_BACKEND_FAILED,
     "the backend failed: d: Permission denied", NULL},
    {RUN_FAILURE_INTERNAL, 0, "i", false, false, ERROR_BACKEND_FAILED,
     "the backend failed: i: Permission denied", NULL},
    {9999, 0, "?", false, false, ERROR_BACKEND_FAILED, "the backend failed: ?: Permission denied",
     NULL},
    {RUN_FAILURE_NONE, 0, "", false, false, ERROR_BACKEND_FAILED,
     "the trial of the sandbox did not end by itself: exit", NULL},
};

START_TEST(an_end_is_called_what_it_is)
{
    const struct policy_language *python = policy_find_language(policy, "python");
    struct run_event ended = {.failure = ends[_i].failure, .error_number = EACCES};
    struct error error = {.hint = ""};
    if (ended.failure == RUN_FAILURE_LAYER || ended.failure == RUN_FAILURE_WORKSPACE)
        ended.failed_layer = ends[_i].detail;
    else
        ended.problem_code = ends[_i].detail;
    (void)snprintf(ended.remedy, sizeof(ended.remedy), "the backend's remedy");
    (void)snprintf(ended.message, sizeof(ended.message), "%s", ends[_i].said);
    readiness_explain(&ended, ends[_i].in_image ? SANDBOX_MODE_DOCKER : SANDBOX_MODE_PROCESS,
                      ends[_i].no_language ? NULL : python, ends[_i].in_image ? "i:1" : NULL,
                      &error);
    ck_assert_msg(error.code == ends[_i].code, "%s", error.message);
    ck_assert_str_eq(error.message, ends[_i].message);
    ck_assert_msg(ends[_i].hint == NULL || strstr(error.hint, ends[_i].hint) != NULL, "%s",
                  error.hint);
}
END_TEST

START_TEST(an_engine_that_fails_is_no_longer_known)
{
    const struct trial_subject subject = python_in(SANDBOX_MODE_DOCKER);
    const struct run_event ended = {.failure = RUN_FAILURE_BACKEND};
    struct error error;
    expect_trials(&subject, 1);
    readiness_explain(&ended, subject.mode, subject.language, subject.image, &error);
    expect_trials(&subject, 2);
}
END_TEST

static bool sweep(struct error *error)
{
    struct run_event ended;
    return readiness_sweep(policy, SANDBOX_MODE_PROCESS, &ended, error);
}

START_TEST(a_sweep_succeeds_or_says_why_not)
{
    struct error error;
    ck_assert(sweep(&error));
    no_memory = true;
    ck_assert(!sweep(&error));
    ck_assert_int_eq(error.code, ERROR_OUT_OF_MEMORY);
    no_memory = false;
    no_backend = true;
    ck_assert(!sweep(&error));
    ck_assert_int_eq(error.code, ERROR_BACKEND_UNAVAILABLE);
    no_backend = false;
    no_answer = true;
    ck_assert(!sweep(&error));
    ck_assert_int_eq(error.code, ERROR_BACKEND_FAILED);
    no_answer = false;
    answer.failure = RUN_FAILURE_INTERNAL;
    ck_assert(!sweep(&error));
    ck_assert_int_eq(error.code, ERROR_BACKEND_FAILED);
    ck_assert_uint_eq(runs, 3);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("trials"), tcase_create("ends"), tcase_create("sweep")};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        tcase_add_checked_fixture(cases[i], load_policy, release_policy);
    tcase_add_test(cases[0], a_success_is_remembered_for_the_same_subject_only);
    tcase_add_test(cases[0], a_remembered_success_expires);
    tcase_add_test(cases[0], with_pull_always_the_cached_result_is_never_used);
    tcase_add_test(cases[0], a_failure_is_tried_again);
    tcase_add_test(cases[0], a_file_system_is_tried_once);
    tcase_add_loop_test(cases[1], an_end_is_called_what_it_is, 0, COUNT_OF(ends));
    tcase_add_test(cases[1], an_engine_that_fails_is_no_longer_known);
    tcase_add_test(cases[2], a_sweep_succeeds_or_says_why_not);
    return run_suite("readiness", cases, COUNT_OF(cases));
}
