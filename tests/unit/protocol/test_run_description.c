/* SPDX-License-Identifier: Apache-2.0 */
/* The description of a run, which the plugin sends to a backend: whole ones survive, broken and
 * unsafe ones are refused.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "protocol/layers.h"
#include "protocol/run_description.h"
#include "tap_suite.h"

#define TEXT(literal)  ((char *)(uintptr_t)(literal))
#define LIST(...)      ((char **)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL})
#define BYTES(literal) ((unsigned char *)(uintptr_t)(literal))

static struct run_file sample_files[] = {
    {.path = TEXT("a/b.txt"), .content = BYTES("x\0y"), .length = 3},
    {.path = TEXT("empty"), .content = BYTES(""), .length = 0},
};

static const char *const sample_argv[] = {"python3", "-c", "print('\xc3\xa4')", NULL};
static const char *const sample_environment[] = {"A=1", "B=", NULL};
static const char *const sample_directories[] = {"/usr/bin", NULL};
static const char *const sample_paths[] = {"/usr", "/lib", NULL};

static unsigned char sample_options[] = {0, 1, 255};

static struct run_description sample(void)
{
    return (struct run_description){
        .run_id = "0123456789abcdef0123456789abcdef",
        .isolation = RUN_ISOLATION_SANDBOX,
        .network = 1,
        .results = 1,
        .endpoints = 1,
        .required = LAYERS_MANDATORY,
        .outer_uid_base = 200000,
        .outer_uid_count = 100,
        .limits = {.wall_ms = 10000, .memory_bytes = UINT64_C(1) << 40},
        .argv = (char **)(uintptr_t)sample_argv,
        .environment = (char **)(uintptr_t)sample_environment,
        .runtime_path = (char **)(uintptr_t)sample_directories,
        .read_only_paths = (char **)(uintptr_t)sample_paths,
        .files = sample_files,
        .file_count = 2,
        .private_file_count = 1,
        .workspace = TEXT("/srv/w"),
        .workspace_id = {.device = 1, .inode = UINT64_MAX},
        .image = {.name = TEXT("i:1"), .pull = RUN_PULL_ALWAYS},
        .packages = {.path = TEXT("/e/sha256-0"),
                     .sha256 = TEXT("0123456789abcdef0123456789abcdef"
                                    "0123456789abcdef0123456789abcdef"),
                     .bytes = UINT64_C(1) << 40,
                     .inodes = 7},
        .options = {sample_options, sizeof(sample_options)},
    };
}

static bool decodes(const struct run_description *description)
{
    size_t length = 0;
    CLEANUP_FREE unsigned char *message = run_description_encode(description, &length);
    struct run_description decoded;
    if (!message || !run_description_decode(message, length, &decoded))
        return false;
    run_description_clear(&decoded);
    return true;
}

START_TEST(description_survives)
{
    struct run_description description = sample();
    size_t length = 0;
    CLEANUP_FREE unsigned char *message = run_description_encode(&description, &length);
    ck_assert_ptr_nonnull(message);
    CLEANUP(run_description_clear) struct run_description decoded = {.file_count = 0};
    ck_assert(run_description_decode(message, length, &decoded));
    ck_assert_str_eq(decoded.run_id, description.run_id);
    ck_assert_uint_eq(decoded.network, 1);
    ck_assert_uint_eq(decoded.results, 1);
    ck_assert_uint_eq(decoded.endpoints, 1);
    ck_assert_uint_eq(decoded.required, LAYERS_MANDATORY);
    ck_assert_uint_eq(decoded.limits.memory_bytes, UINT64_C(1) << 40);
    ck_assert_str_eq(decoded.argv[2], "print('\xc3\xa4')");
    ck_assert_ptr_null(decoded.argv[3]);
    ck_assert_str_eq(decoded.environment[1], "B=");
    ck_assert_str_eq(decoded.read_only_paths[1], "/lib");
    ck_assert_uint_eq(decoded.file_count, 2);
    ck_assert_str_eq(decoded.files[0].path, "a/b.txt");
    ck_assert_mem_eq(decoded.files[0].content, "x\0y", 3);
    ck_assert_uint_eq(decoded.files[1].length, 0);
    ck_assert(!run_description_file_private(&decoded, 0));
    ck_assert(run_description_file_private(&decoded, 1));
    ck_assert_str_eq(decoded.workspace, "/srv/w");
    ck_assert_uint_eq(decoded.workspace_id.device, 1);
    ck_assert_uint_eq(decoded.workspace_id.inode, UINT64_MAX);
    ck_assert_uint_eq(decoded.options.length, sizeof(sample_options));
    ck_assert_mem_eq(decoded.options.bytes, sample_options, sizeof(sample_options));
    ck_assert_str_eq(decoded.packages.path, "/e/sha256-0");
    ck_assert_str_eq(decoded.packages.sha256, description.packages.sha256);
    ck_assert_uint_eq(decoded.packages.bytes, UINT64_C(1) << 40);
    ck_assert_uint_eq(decoded.packages.inodes, 7);
    ck_assert_str_eq(decoded.image.name, "i:1");
    ck_assert_str_eq(decoded.image.id, "");
    ck_assert_uint_eq(decoded.image.pull, RUN_PULL_ALWAYS);
}
END_TEST

START_TEST(packages_have_a_path_and_a_hash)
{
    struct run_description description = sample();
    char *hash = description.packages.sha256;
    ck_assert(decodes(&description));
    description.packages.sha256 = TEXT("");
    ck_assert(!decodes(&description));
    description.packages.sha256 = TEXT("0123456789abcdef0123456789abcdef"
                                       "0123456789abcdef0123456789abcdeF");
    ck_assert(!decodes(&description));
    description.packages.sha256 = hash;
    description.packages.path = TEXT("");
    ck_assert(!decodes(&description));
    description.packages.path = TEXT("e");
    ck_assert(!decodes(&description));
    description.packages = (struct run_packages){.path = NULL};
    ck_assert(decodes(&description));
}
END_TEST

START_TEST(more_private_files_than_files_are_refused)
{
    struct run_description description = sample();
    description.private_file_count = 3;
    ck_assert(!decodes(&description));
    description.private_file_count = 2;
    ck_assert(decodes(&description));
}
END_TEST

START_TEST(cut_or_longer_description_is_refused)
{
    struct run_description description = sample();
    size_t length = 0;
    CLEANUP_FREE unsigned char *message = run_description_encode(&description, &length);
    ck_assert_ptr_nonnull(message);
    struct run_description decoded;
    for (size_t cut = 0; cut < length; cut++)
        ck_assert(!run_description_decode(message, cut, &decoded));
    unsigned char longer[4096] = {0};
    ck_assert_uint_lt(length, sizeof(longer));
    memcpy(longer, message, length);
    ck_assert(!run_description_decode(longer, length + 1, &decoded));
    longer[0]++;
    ck_assert(!run_description_decode(longer, length, &decoded));
}
END_TEST

/* Any single changed byte gives a description or a refusal, never a fault (run under sanitizers).
 */
START_TEST(changed_bytes_are_survived)
{
    struct run_description description = sample();
    size_t length = 0;
    CLEANUP_FREE unsigned char *message = run_description_encode(&description, &length);
    static const unsigned char changes[] = {0x01, 0x80, 0xff};
    for (size_t i = 0; i < length; i++) {
        for (size_t j = 0; j < COUNT_OF(changes); j++) {
            struct run_description decoded;
            message[i] ^= changes[j];
            if (run_description_decode(message, length, &decoded))
                run_description_clear(&decoded);
            message[i] ^= changes[j];
        }
    }
}
END_TEST

#define HASH_TEXT "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Its content is no part of the message, and whole pages of it are counted. */
START_TEST(a_file_by_reference_is_its_hash_and_size)
{
    struct run_file files[] = {
        {.path = TEXT("a"), .length = 100 << 20, .by_reference = true, .sha256 = HASH_TEXT},
        {.path = TEXT("b"), .content = BYTES("x"), .length = 1},
        {.path = TEXT("c"), .length = 1, .by_reference = true, .sha256 = HASH_TEXT},
    };
    struct run_description description = sample();
    size_t length = 0;
    description.files = files;
    description.file_count = COUNT_OF(files);
    CLEANUP_FREE unsigned char *message = run_description_encode(&description, &length);
    CLEANUP(run_description_clear) struct run_description decoded = {.file_count = 0};
    ck_assert(message && run_description_decode(message, length, &decoded));
    ck_assert_uint_le(length, 1024);
    ck_assert(decoded.files[0].by_reference && !decoded.files[1].by_reference);
    ck_assert_uint_eq(decoded.files[0].length, 100 << 20);
    ck_assert_str_eq(decoded.files[2].sha256, HASH_TEXT);
    ck_assert_ptr_null(decoded.files[0].content);
    ck_assert_uint_eq(run_description_input_bytes(&decoded), (100 << 20) + 65536);
    files[0].length = (SIZE_MAX >> 14) + 2;
    ck_assert(!decodes(&description));
    files[0].length = 1;
    ck_assert(decodes(&description));
    files[0].sha256[0] = 'A';
    ck_assert(!decodes(&description));
    files[0].sha256[0] = '\0'; /* not known yet */
    ck_assert(!decodes(&description));
}
END_TEST

START_TEST(unsafe_descriptions_are_refused)
{
    static const char *const paths[] = {"/etc/passwd", "..",   "a/../b", "a//b", "",
                                        "./a",         "a/..", "a/",     "."};
    struct run_description description = sample();
    ck_assert(decodes(&description));
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        struct run_file file = {.path = TEXT(paths[i]), .content = BYTES(""), .length = 0};
        description = sample();
        description.files = &file;
        description.file_count = 1;
        ck_assert_msg(!decodes(&description), "%s", paths[i]);
    }
    description = sample();
    description.argv = LIST(NULL);
    ck_assert(!decodes(&description));
    description.argv = LIST("");
    ck_assert(!decodes(&description));
    description = sample();
    description.isolation = RUN_ISOLATION_COUNT;
    ck_assert(!decodes(&description));
    description = sample();
    description.read_only_paths = LIST("usr");
    ck_assert(!decodes(&description));
    description = sample();
    description.run_id[31] = '/';
    ck_assert(!decodes(&description));
}
END_TEST

START_TEST(too_many_strings_are_refused)
{
    char **many = calloc(RUN_STRINGS_LIMIT + 2, sizeof(*many));
    for (size_t i = 0; i <= RUN_STRINGS_LIMIT; i++)
        many[i] = TEXT("x");
    struct run_description description = sample();
    description.argv = many;
    ck_assert(!decodes(&description));
    many[RUN_STRINGS_LIMIT] = NULL;
    ck_assert(decodes(&description));
    free(many);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("run_description");
    tcase_add_test(cases, description_survives);
    tcase_add_test(cases, more_private_files_than_files_are_refused);
    tcase_add_test(cases, packages_have_a_path_and_a_hash);
    tcase_add_test(cases, cut_or_longer_description_is_refused);
    tcase_add_test(cases, changed_bytes_are_survived);
    tcase_add_test(cases, unsafe_descriptions_are_refused);
    tcase_add_test(cases, a_file_by_reference_is_its_hash_and_size);
    tcase_add_test(cases, too_many_strings_are_refused);
    return run_suite("run_description", &cases, 1);
}
