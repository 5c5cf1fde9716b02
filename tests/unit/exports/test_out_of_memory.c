/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lack of memory anywhere: the Nth allocation fails, for every N until all goes through. Nothing
 * crashes, nothing leaks, and the error says so. Single-threaded test process.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exports/manifest.h"
#include "exports/prepare_query.h"
#include "policy/policy.h"
#include "request/request.h"
#include "tap_suite.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *pointer, size_t size);
void __real_free(void *pointer);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *pointer, size_t size);
void __wrap_free(void *pointer);

static bool counting;
static long until_failure; /* allocations that still go through */
static long live;          /* blocks not freed */

static bool fails(void)
{
    return counting && until_failure-- <= 0;
}

void *__wrap_malloc(size_t size)
{
    if (fails())
        return NULL;
    live += counting;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    if (fails())
        return NULL;
    live += counting;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *pointer, size_t size)
{
    if (fails())
        return NULL;
    live += counting && pointer == NULL;
    return __real_realloc(pointer, size);
}

void __wrap_free(void *pointer)
{
    live -= counting && pointer != NULL;
    __real_free(pointer);
}

static const char request_text[] =
    "{\"language\":\"py\",\"code\":\"\\ufeff```\\nx {{secret:a}}\\n```\",\"stdin\":\"s\",\"args\":["
    "\"a\",\"b\"],\"env\":{\"A\":\"1\",\"B\":\"2\"},\"secrets\":{\"C\":\"{{secret:c}}\","
    "\"D\":\"{{secret:d}}\"},\"files\":[{\"path\":\"a\",\"content\":\"x\"},{\"path\":\"b\","
    "\"content\":\"AAAA\",\"encoding\":\"base64\"}],\"timeout_ms\":1,\"network\":true,"
    "\"image\":\"i\",\"endpoints\":[\"e\",\"f\"],\"session\":\"s\",\"reason\":\"r\"}";

static const char policy_text[] =
    "{\"approval\":{\"rules\":[{\"decision\":\"deny\",\"languages\":[\"sh\"],\"modes\":[\"none\"],"
    "\"network\":true,\"secrets\":false,\"reason\":\"r\"},{\"decision\":\"ask\",\"id\":\"i\","
    "\"secrets\":[\"a\"],\"principals\":[\"p\"],\"match\":[{\"language\":\"sh\",\"principal\":"
    "\"p\","
    "\"secrets\":[\"a\"]}]}]},"
    "\"languages\":{\"lua\":null,"
    "\"sh\":{\"environment\":null,\"read_only\":null,\"modules\":null}},"
    "\"secrets\":{\"allowed\":[\"a\",\"b\"],\"rules\":{\"a\":{\"languages\":[\"sh\"],"
    "\"modes\":[\"process\"],\"approval\":\"ask\"}},"
    "\"delivery\":{\"a\":\"file\"},\"providers\":["
    "{\"type\":\"systemd\",\"directory\":\"/a\"},{\"type\":\"environment\",\"prefix\":\"A\"},"
    "{\"type\":\"command\",\"argv\":[\"/b\",\"{name}\"],\"environment\":{\"C\":\"d\"},"
    "\"inherit\":[\"E\"]}]},\"require\":[\"cgroup\"],"
    "\"docker\":{\"host\":\"h\",\"context\":\"c\",\"certificates\":\"/c\",\"runtime\":\"r\","
    "\"offered\":null,\"images\":{\"sh\":{\"image\":\"i\",\"argv\":[\"sh\",\"{file}\"]}}}}";
static const char one_image_text[] = "{\"docker\":{\"images\":\"all\",\"offered\":[\"more\"]}}";
static const char content_text[] =
    "{\"content_checks\":{\"languages\":{\"python\":{\"action\":\"warn\",\"allowed_modules\":["
    "\"a\"],\"forbidden_modules\":[\"b\"],\"forbidden_names\":[\"c\"]}},\"command\":{\"action\":"
    "\"warn\",\"argv\":[\"/c\"],\"timeout_ms\":1}}}";

/* %s: a file with a certificate. */
static const char endpoints_text[] =
    "{\"endpoints\":{\"e\":{\"base_url\":\"https://a.b\",\"allow\":[{\"methods\":[\"GET\"],"
    "\"paths\":[\"/\"]}],\"auth\":{\"type\":\"header\",\"secret\":\"s\",\"name\":\"n\","
    "\"prefix\":\"p\"},\"headers\":{\"a\":\"b\"},\"request_headers\":[\"c\"],"
    "\"response_headers\":[\"d\"],\"variables\":{\"A\":\"\"},\"preset\":\"pip\","
    "\"ca_file\":\"%s\"},\"f\":{\"tunnel\":\"a.b:1\",\"description\":\"d\"}}}";
static const char certificate[] = "-----BEGIN CERTIFICATE-----\n";
static char certificate_path[] = P_tmpdir "/test-oom-XXXXXX";

static const char asked_text[] =
    "{\"docker\":{\"images\":\"all\",\"offered\":[\"more\"]},\"secrets\":{\"allowed\":[\"a\"]},"
    "\"content_checks\":{\"languages\":{\"python\":{\"action\":\"warn\"}},\"command\":{\"action\":"
    "\"warn\",\"argv\":["
    "\"/c\"],\"timeout_ms\":1}}}";

static char policy_path[] = P_tmpdir "/test-oom-XXXXXX";

/* Each does its work once and releases it; false with error when it could not. */
static bool parse_request(struct error *error)
{
    struct request request;
    if (!request_parse(REQUEST_CODE_EXECUTE, request_text, sizeof(request_text) - 1, &request,
                       error))
        return false;
    request_clear(&request);
    return true;
}

/* jansson calls a string it has no memory for an invalid token; nobody can tell it from one. */
static bool says_so(const struct error *error)
{
    return error->code == ERROR_OUT_OF_MEMORY || strstr(error->message, "not JSON at line") != NULL;
}

static bool load_policy_text(const char *text, struct error *error)
{
    struct policy *policy = policy_load_text("test", text, strlen(text), error);
    policy_unref(policy);
    return policy != NULL;
}

static bool load_policy(struct error *error)
{
    return load_policy_text(policy_text, error);
}

static bool load_policy_of_one_image(struct error *error)
{
    return load_policy_text(one_image_text, error);
}

static bool load_policy_of_content_checks(struct error *error)
{
    return load_policy_text(content_text, error);
}

static bool load_policy_of_endpoints(struct error *error)
{
    char text[1024];
    (void)snprintf(text, sizeof(text), endpoints_text, certificate_path);
    return load_policy_text(text, error);
}

static bool load_policy_file(struct error *error)
{
    struct policy *policy = policy_load_file(policy_path, error);
    policy_unref(policy);
    return policy != NULL;
}

/* Asked about a policy and a request under it. */
static bool ask(struct error *error)
{
    static const char input[] = "{\\\"language\\\":\\\"sh\\\",\\\"code\\\":\\\"x\\\","
                                "\\\"secrets\\\":{\\\"A\\\":\\\"{{secret:a}}\\\"}}";
    char question[512];
    bool answered = false;
    (void)snprintf(question, sizeof(question),
                   "{\"policy_file\":\"%s\",\"check\":true,\"explain\":{\"input_json\":\"%s\","
                   "\"context_json\":\"{\\\"policy\\\":{\\\"languages\\\":[\\\"sh\\\"]}}\"}}",
                   policy_path, input);
    char *text = prepare_query_answer(question, &answered);
    bool whole = text != NULL && answered;
    __wrap_free(text);
    if (!whole)
        error_set(error, ERROR_OUT_OF_MEMORY, "question");
    return whole;
}

static bool ask_counters(struct error *error)
{
    bool answered = false;
    char *text = prepare_query_answer("{\"counters\":true}", &answered);
    bool whole = text != NULL && answered;
    __wrap_free(text);
    if (!whole)
        error_set(error, ERROR_OUT_OF_MEMORY, "question");
    return whole;
}

static bool build_manifest(struct error *error)
{
    bool built = strcmp(manifest_text(), "{}") != 0;
    manifest_release();
    if (!built)
        error_set(error, ERROR_OUT_OF_MEMORY, "manifest");
    return built;
}

static const struct {
    const char *name;
    bool (*run)(struct error *error);
    bool
        duplicates; /* frees what libc has allocated by itself, as strdup(), which is not counted */
} works[] = {{"a request", parse_request, false},
             {"a policy", load_policy, false},
             {"a policy of one image", load_policy_of_one_image, false},
             {"a policy of content checks", load_policy_of_content_checks, false},
             {"a policy of endpoints", load_policy_of_endpoints, true},
             {"a policy's file", load_policy_file, false},
             {"a question", ask, true},
             {"a question about counters", ask_counters, true},
             {"the manifest", build_manifest, false}};

START_TEST(fails_cleanly)
{
    struct error error;
    json_set_alloc_funcs(__wrap_malloc, __wrap_free);
    bool warm = works[_i].run(&error); /* jansson seeds its hash once */
    ck_assert_msg(warm, "%s", error.message);
    long allocations = 0;
    for (bool done = false; !done; allocations++) {
        memset(&error, 0, sizeof(error));
        live = 0;
        until_failure = allocations;
        counting = true;
        done = works[_i].run(&error);
        counting = false;
        ck_assert_msg(live == 0 || (works[_i].duplicates && live < 0),
                      "%ld blocks leaked when allocation %ld failed", live, allocations);
        ck_assert_msg(done || says_so(&error), "allocation %ld: %s: %s", allocations,
                      error_code_name(error.code), error.message);
    }
    (void)printf("# %s: %ld points\n", works[_i].name, allocations - 1);
    (void)fflush(stdout);
    ck_assert_int_gt(allocations, 30); /* or the wrapping did not work */
}
END_TEST

static void write_file(char *path, const char *text)
{
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(close(fd), 0);
}

static void write_files(void)
{
    write_file(policy_path, asked_text);
    write_file(certificate_path, certificate);
}

static void remove_files(void)
{
    (void)unlink(policy_path);
    (void)unlink(certificate_path);
}

int main(void)
{
    TCase *cases[] = {tcase_create("out_of_memory")};
    tcase_set_timeout(cases[0], 60);
    tcase_add_checked_fixture(cases[0], write_files, remove_files);
    tcase_add_loop_test(cases[0], fails_cleanly, 0, COUNT_OF(works));
    return run_suite("out_of_memory", cases, COUNT_OF(cases));
}
