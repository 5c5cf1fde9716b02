/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context and workspace: what the gateway says about a call, and whether the directory it names may
 * be shown. Single-threaded.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "call/context.h"
#include "call/workspace.h"
#include "tap_suite.h"

char *__real_strdup(const char *string);
char *__wrap_strdup(const char *string);

static const char *no_memory_for = ""; /* the text of which there is no copy */

char *__wrap_strdup(const char *string)
{
    return strcmp(string, no_memory_for) == 0 ? NULL : __real_strdup(string);
}

static void clear(struct call_context *context)
{
    free(context->principal);
    free(context->session);
    free(context->traceparent);
    free(context->workspace);
    narrowing_clear(&context->narrowing);
}

#define WHOLE "{\"principal\":\"p\",\"session\":\"s\",\"traceparent\":\"t\",\"workspace\":\"/w\"}"

START_TEST(given_members_are_read)
{
    CLEANUP(clear) struct call_context context = {0};
    struct error error;
    ck_assert(context_parse(NULL, &context, &error));
    ck_assert(context_parse("{}", &context, &error));
    ck_assert_ptr_null(context.principal);
    ck_assert(context_parse(WHOLE, &context, &error));
    ck_assert_str_eq(context.principal, "p");
    ck_assert_str_eq(context.session, "s");
    ck_assert_str_eq(context.traceparent, "t");
    ck_assert_str_eq(context.workspace, "/w");
}
END_TEST

static const char *const texts[] = {"p", "s", "t", "/w"};

START_TEST(half_a_context_is_none)
{
    CLEANUP(clear) struct call_context context = {0};
    struct error error;
    no_memory_for = texts[_i];
    ck_assert(!context_parse(WHOLE, &context, &error));
    ck_assert_int_eq(error.code, ERROR_OUT_OF_MEMORY);
}
END_TEST

static const struct {
    const char *json;
    enum error_code code;
} refused[] = {
    {"", ERROR_INVALID_INPUT},
    {"[]", ERROR_INVALID_INPUT},
    {"{\"user\":\"u\"}", ERROR_INVALID_INPUT},
    {"{\"principal\":1}", ERROR_INVALID_INPUT},
    {"{\"policy\":null}", ERROR_INVALID_INPUT},
    {"{\"policy\":{\"surplus\":1}}", ERROR_INVALID_INPUT},
};

START_TEST(unknown_members_are_refused)
{
    CLEANUP(clear) struct call_context context = {0};
    struct error error;
    ck_assert(!context_parse(refused[_i].json, &context, &error));
    ck_assert_msg(error.code == refused[_i].code, "%s", error.message);
}
END_TEST

static char root[] = P_tmpdir "/test-context-XXXXXX";
static char allowed[64];
static struct policy policy;

static const char *below_root(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    return path;
}

/* root/projects is where workspaces may be; beside it are a directory whose name only begins so,
 * and a link into it. */
static void make_directories(void)
{
    static char *directories[] = {allowed, NULL};
    ck_assert_ptr_nonnull(mkdtemp(root));
    (void)snprintf(allowed, sizeof(allowed), "%s/projects", root);
    policy.workspaces = directories;
    ck_assert_int_eq(mkdir(allowed, 0700), 0);
    ck_assert_int_eq(mkdir(below_root("projects/one"), 0700), 0);
    ck_assert_int_eq(mkdir(below_root("projects-of-others"), 0700), 0);
    ck_assert_int_eq(mkdir(below_root("projects/one/below"), 0700), 0);
    ck_assert_int_eq(symlink("one", below_root("projects/link")), 0);
    ck_assert_int_eq(mknod(below_root("projects/file"), S_IFREG | 0600, 0), 0);
}

static void remove_directories(void)
{
    (void)unlink(below_root("projects/file"));
    (void)unlink(below_root("projects/link"));
    (void)rmdir(below_root("projects-of-others"));
    (void)rmdir(below_root("projects/one/below"));
    (void)rmdir(below_root("projects/one"));
    (void)rmdir(allowed);
    (void)rmdir(root);
}

#define NONE (-1)
static const struct {
    const char *name;
    enum sandbox_mode mode;
    int code; /* NONE: it may be shown */
} workspaces[] = {
    {"projects", SANDBOX_MODE_PROCESS, NONE},
    {"projects/one", SANDBOX_MODE_PROCESS, NONE},
    {"projects/one", SANDBOX_MODE_DOCKER, ERROR_NOT_SUPPORTED},
    {"projects/one", SANDBOX_MODE_NONE, ERROR_NOT_SUPPORTED},
    {"projects-of-others", SANDBOX_MODE_PROCESS, ERROR_POLICY_DENIED},
    {"elsewhere", SANDBOX_MODE_PROCESS, ERROR_POLICY_DENIED},
    {"projects/missing", SANDBOX_MODE_PROCESS, ERROR_INVALID_INPUT},
    {"projects/file", SANDBOX_MODE_PROCESS, ERROR_INVALID_INPUT},
    {"projects/link", SANDBOX_MODE_PROCESS, ERROR_INVALID_INPUT},
    {"projects/one/..", SANDBOX_MODE_PROCESS, ERROR_INVALID_INPUT},
    {"projects/./one", SANDBOX_MODE_PROCESS, ERROR_INVALID_INPUT},
    {"projects//one", SANDBOX_MODE_PROCESS, ERROR_INVALID_INPUT},
    {"projects/one/", SANDBOX_MODE_PROCESS, ERROR_INVALID_INPUT},
    {"projects/link/below", SANDBOX_MODE_PROCESS, ERROR_INVALID_INPUT},
};

START_TEST(a_workspace_is_a_resolved_directory_below_what_is_allowed)
{
    struct error error;
    struct workspace workspace = WORKSPACE_NONE;
    bool shown = workspace_check(&policy, workspaces[_i].mode, below_root(workspaces[_i].name),
                                 &workspace, &error);
    ck_assert_int_eq(shown, workspaces[_i].code == NONE);
    ck_assert_int_eq(shown, workspace.fd >= 0);
    workspace_close(&workspace);
    if (!shown)
        ck_assert_msg((int)error.code == workspaces[_i].code, "%s", error.message);
}
END_TEST

/* Another directory under the same path is another workspace, but not for who has checked. */
START_TEST(a_workspace_is_the_directory_that_was_checked)
{
    struct error error;
    struct workspace before = WORKSPACE_NONE;
    struct workspace after = WORKSPACE_NONE;
    ck_assert_int_eq(rmdir(below_root("projects/one/below")), 0);
    const char *path = below_root("projects/one");
    ck_assert(workspace_check(&policy, SANDBOX_MODE_PROCESS, path, &before, &error));
    struct directory_id id = before.id;
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert(workspace_check(&policy, SANDBOX_MODE_PROCESS, path, &before, &error));
    ck_assert(directory_id_equal(&before.id, &id));
    ck_assert(workspace_check(&policy, SANDBOX_MODE_PROCESS, path, &after, &error));
    ck_assert(!directory_id_equal(&after.id, &id));
    workspace_close(&before);
    workspace_close(&after);
}
END_TEST

START_TEST(no_workspace_is_no_question)
{
    struct error error;
    struct workspace workspace = WORKSPACE_NONE;
    ck_assert(workspace_check(&policy, SANDBOX_MODE_NONE, NULL, &workspace, &error));
    ck_assert_int_eq(workspace.fd, -1);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("context"), tcase_create("workspace")};
    tcase_add_test(cases[0], given_members_are_read);
    tcase_add_loop_test(cases[0], half_a_context_is_none, 0, COUNT_OF(texts));
    tcase_add_loop_test(cases[0], unknown_members_are_refused, 0, COUNT_OF(refused));
    tcase_add_checked_fixture(cases[1], make_directories, remove_directories);
    tcase_add_loop_test(cases[1], a_workspace_is_a_resolved_directory_below_what_is_allowed, 0,
                        COUNT_OF(workspaces));
    tcase_add_test(cases[1], a_workspace_is_the_directory_that_was_checked);
    tcase_add_test(cases[1], no_workspace_is_no_question);
    return run_suite("context", cases, COUNT_OF(cases));
}
