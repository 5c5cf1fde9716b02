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

char *__real_copy_bytes(const char *bytes, size_t length);
char *__wrap_copy_bytes(const char *bytes, size_t length);

static const char *no_memory_for = ""; /* the text of which there is no copy */

char *__wrap_copy_bytes(const char *bytes, size_t length)
{
    return strcmp(bytes, no_memory_for) == 0 ? NULL : __real_copy_bytes(bytes, length);
}

#define WHOLE "{\"principal\":\"p\",\"session\":\"s\",\"traceparent\":\"t\",\"workspace\":\"/w\"}"

START_TEST(given_members_are_read)
{
    CLEANUP(context_clear) struct call_context context = {0};
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
    CLEANUP(context_clear) struct call_context context = {0};
    struct error error;
    no_memory_for = texts[_i];
    ck_assert(!context_parse(WHOLE, &context, &error));
    ck_assert_int_eq(error.code, ERROR_OUT_OF_MEMORY);
}
END_TEST

#define HASH_TEXT "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILE_WITH(more) \
    "{\"files\":[{\"ref\":\"r\",\"name\":\"n\",\"size\":1," more "}]}", ERROR_INVALID_INPUT

START_TEST(files_are_found_by_their_reference)
{
    static const char text[] =
        "{\"files\":[{\"ref\":\"one\",\"name\":\"1.csv\",\"size\":0},{\"ref\":"
        "\"two\",\"name\":\"2.csv\",\"size\":1125899906842624,\"sha256\":\"" HASH_TEXT
        "\"},{\"ref\":\"two\",\"name\":\"3.csv\",\"size\":3}]}";
    CLEANUP(context_clear) struct call_context context = {0};
    struct error error;
    ck_assert_msg(context_parse(text, &context, &error), "%s", error.message);
    ck_assert_uint_eq(context.file_count, 3);
    ck_assert_str_eq(context_find_file(&context, "one")->name, "1.csv");
    ck_assert_ptr_null(context_find_file(&context, "one")->sha256);
    ck_assert_uint_eq(context_find_file(&context, "two")->size, UINT64_C(1) << 50);
    ck_assert_str_eq(context_find_file(&context, "two")->sha256, HASH_TEXT);
    ck_assert_ptr_null(context_find_file(&context, "tw"));
    ck_assert_ptr_null(context_find_file(&context, ""));
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
    {"{\"files\":null}", ERROR_INVALID_INPUT},
    {"{\"files\":{}}", ERROR_INVALID_INPUT},
    {"{\"files\":[1]}", ERROR_INVALID_INPUT},
    {"{\"files\":[{}]}", ERROR_INVALID_INPUT},
    {"{\"files\":[{\"ref\":\"r\",\"name\":\"n\"}]}", ERROR_INVALID_INPUT},
    {"{\"files\":[{\"ref\":\"r\",\"size\":1}]}", ERROR_INVALID_INPUT},
    {"{\"files\":[{\"name\":\"n\",\"size\":1}]}", ERROR_INVALID_INPUT},
    {FILE_WITH("\"x\":1")},
    {FILE_WITH("\"sha256\":null")},
    {FILE_WITH("\"sha256\":\"0\"")},
    {FILE_WITH("\"sha256\":\"" HASH_TEXT "0\"")},
    {"{\"files\":[{\"ref\":\"\",\"name\":\"n\",\"size\":1}]}", ERROR_INVALID_INPUT},
    {"{\"files\":[{\"ref\":\"a\\nb\",\"name\":\"n\",\"size\":1}]}", ERROR_INVALID_INPUT},
    {"{\"files\":[{\"ref\":\"r\",\"name\":\"\\u001b[2J\",\"size\":1}]}", ERROR_INVALID_INPUT},
    {"{\"files\":[{\"ref\":\"r\",\"name\":\"n\",\"size\":-1}]}", ERROR_INVALID_INPUT},
    {"{\"files\":[{\"ref\":\"r\",\"name\":\"n\",\"size\":1125899906842625}]}", ERROR_INVALID_INPUT},
};

START_TEST(unknown_members_are_refused)
{
    CLEANUP(context_clear) struct call_context context = {0};
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
    tcase_add_test(cases[0], files_are_found_by_their_reference);
    tcase_add_loop_test(cases[0], half_a_context_is_none, 0, COUNT_OF(texts));
    tcase_add_loop_test(cases[0], unknown_members_are_refused, 0, COUNT_OF(refused));
    tcase_add_checked_fixture(cases[1], make_directories, remove_directories);
    tcase_add_loop_test(cases[1], a_workspace_is_a_resolved_directory_below_what_is_allowed, 0,
                        COUNT_OF(workspaces));
    tcase_add_test(cases[1], a_workspace_is_the_directory_that_was_checked);
    tcase_add_test(cases[1], no_workspace_is_no_question);
    return run_suite("context", cases, COUNT_OF(cases));
}
