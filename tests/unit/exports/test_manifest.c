/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest: built once whoever asks first, and the same again after a release. What the schemas
 * mean is test_schemas.py's.
 */
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "exports/manifest.h"
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

int main(void)
{
    TCase *cases[] = {tcase_create("manifest")};
    tcase_add_test(cases[0], is_built_once);
    tcase_add_test(cases[0], says_what_it_must);
    return run_suite("manifest", cases, COUNT_OF(cases));
}
