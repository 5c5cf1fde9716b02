/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker makes of a gateway's description: replaced, kept, refused. One thread. */
#include <string.h>

#include "backends/worker/run_rewrite.h"
#include "base/cleanup.h"
#include "base/string_list.h"
#include "protocol/layers.h"
#include "tap_suite.h"
#include "json/json_input.h"

#define MIB UINT64_C(1048576)

static struct worker_configuration configuration;
static struct run_description description;
static struct remote_offer offer;

static void add(char ***list, const char *text)
{
    ck_assert(string_list_append(list, text));
}

static void set_text(char **text, const char *to)
{
    free(*text);
    *text = strdup(to);
}

static void set_up(void)
{
    configuration = (struct worker_configuration){
        .mode = WORKER_PROCESS,
        .outer_uid_base = 700000,
        .outer_uid_count = 7,
        .pool_ready = 2,
        .pool_most = 3,
        .pool_memory_bytes = 5 * MIB,
        .pool_idle_ms = 1000,
    };
    description = (struct run_description){
        .isolation = RUN_ISOLATION_SANDBOX,
        .purpose = RUN_PURPOSE_PROGRAM,
        .required = LAYER_BIT(LAYER_CGROUP),
        .outer_uid_base = 1,
        .outer_uid_count = 1,
        .limits = {.memory_bytes = 64 * MIB, .wall_ms = 1000},
        .pool_size = 9,
        .pool_most = 1,
        .pool_idle_ms = 10,
    };
    memset(description.run_id, 'a', RUN_ID_LENGTH);
    add(&description.argv, "python3");
    add(&description.argv, "main.py");
    add(&description.environment, "TOKEN=secret");
    add(&description.runtime_path, "/gateway/bin");
    add(&description.read_only_paths, "/usr");
    add(&description.read_only_paths, "/etc/code-execute");
    add(&description.read_only_paths, "/usr/../etc");
    offer = (struct remote_offer){.purpose = RUN_PURPOSE_PROGRAM, .memory_bytes = 64 * MIB};
}

static void tear_down(void)
{
    run_description_clear(&description);
}

static unsigned char *encode(size_t *ret_length)
{
    unsigned char *bytes = run_description_encode(&description, ret_length);
    ck_assert_ptr_nonnull(bytes);
    return bytes;
}

/* The description as the backend gets it. */
static struct run_description rewritten(void)
{
    struct run_description ret;
    struct error error = {.message = ""};
    size_t length = 0;
    CLEANUP_FREE unsigned char *bytes = encode(&length);
    ck_assert_msg(run_rewrite(&configuration, &offer, &bytes, &length, &error), "%s",
                  error.message);
    ck_assert(run_description_decode(bytes, length, &ret));
    return ret;
}

static void refused(enum error_code code, const char *words)
{
    struct error error = {.message = ""};
    size_t length = 0;
    CLEANUP_FREE unsigned char *bytes = encode(&length);
    const unsigned char *before = bytes;
    ck_assert(!run_rewrite(&configuration, &offer, &bytes, &length, &error));
    ck_assert_ptr_eq(bytes, before);
    ck_assert_int_eq(error.code, code);
    ck_assert_msg(strstr(error.message, words) != NULL, "%s", error.message);
    ck_assert_uint_gt(strlen(error.hint), 0);
}

START_TEST(machine_is_the_workers)
{
    CLEANUP(run_description_clear) struct run_description got = rewritten();
    ck_assert_uint_eq(got.outer_uid_base, 700000);
    ck_assert_uint_eq(got.outer_uid_count, 7);
    ck_assert_uint_eq(got.pool_size, 2);
    ck_assert_uint_eq(got.pool_most, 1);
    ck_assert_uint_eq(got.pool_memory, 5 * MIB);
    ck_assert_uint_eq(got.pool_idle_ms, 10);
    ck_assert_str_eq(got.image.name, "");
    /* What decides about the program is the gateway's. */
    ck_assert_str_eq(got.argv[1], "main.py");
    ck_assert_str_eq(got.environment[0], "TOKEN=secret");
    ck_assert_uint_eq(got.limits.wall_ms, 1000);
}
END_TEST

START_TEST(layers_only_grow)
{
    description.required = LAYER_BIT(LAYER_CGROUP);
    configuration.required = LAYER_BIT(LAYER_PROC);
    CLEANUP(run_description_clear) struct run_description got = rewritten();
    ck_assert_uint_eq(got.required,
                      LAYERS_MANDATORY | LAYER_BIT(LAYER_CGROUP) | LAYER_BIT(LAYER_PROC));
}
END_TEST

START_TEST(endpoints_need_their_broker)
{
    description.endpoints = 1;
    CLEANUP(run_description_clear) struct run_description got = rewritten();
    ck_assert_uint_ne(got.required & LAYER_BIT(LAYER_ENDPOINT_BROKER), 0);
}
END_TEST

START_TEST(isolation_is_the_modes)
{
    configuration.mode = WORKER_UNPRIVILEGED;
    CLEANUP(run_description_clear) struct run_description got = rewritten();
    ck_assert_uint_eq(got.isolation, RUN_ISOLATION_UNPRIVILEGED);
    /* The gateway's own demands stay, so the backend refuses what it cannot give. */
    ck_assert_uint_ne(got.required & LAYER_BIT(LAYER_CGROUP), 0);
}
END_TEST

START_TEST(strange_paths_are_not_shown)
{
    CLEANUP(run_description_clear) struct run_description got = rewritten();
    ck_assert_uint_eq(string_list_count(got.read_only_paths), 1);
    ck_assert_str_eq(got.read_only_paths[0], "/usr");
    ck_assert_str_eq(got.runtime_path[0], "/gateway/bin");
}
END_TEST

START_TEST(configured_paths_replace)
{
    add(&configuration.runtime_path, "/opt/bin");
    add(&configuration.runtime_path, "/bin");
    add(&description.environment, "PATH=/gateway/bin");
    add(&description.environment, "PATH=/home/sandbox/bin");
    add(&configuration.read_only, "/opt");
    CLEANUP(run_description_clear) struct run_description got = rewritten();
    ck_assert_uint_eq(string_list_count(got.read_only_paths), 1);
    ck_assert_str_eq(got.read_only_paths[0], "/opt");
    ck_assert_uint_eq(string_list_count(got.runtime_path), 2);
    ck_assert_str_eq(got.runtime_path[0], "/opt/bin");
    ck_assert_str_eq(got.environment[1], "PATH=/opt/bin:/bin");
    ck_assert_str_eq(got.environment[2], "PATH=/home/sandbox/bin"); /* the request's own */
    string_list_free(configuration.runtime_path);
    string_list_free(configuration.read_only);
}
END_TEST

START_TEST(network_is_the_operators_to_give)
{
    description.network = 1;
    refused(ERROR_NOT_SUPPORTED, "network");
    configuration.allows_network = true;
    add(&description.read_only_paths, "/etc/resolv.conf");
    CLEANUP(run_description_clear) struct run_description got = rewritten();
    ck_assert_uint_eq(got.required & LAYER_BIT(LAYER_NETWORK_NAMESPACE), 0);
    ck_assert_uint_ne(got.required & LAYER_BIT(LAYER_MOUNT_NAMESPACE), 0);
    ck_assert(string_list_contains(got.read_only_paths, "/etc/resolv.conf"));
}
END_TEST

START_TEST(images_are_the_workers)
{
    struct worker_image image = {.program = strdup("python3"), .image = strdup("python:3.12")};
    configuration.mode = WORKER_DOCKER;
    configuration.images = &image;
    configuration.image_count = 1;
    set_text(&description.image.name, "gateway/image");
    CLEANUP(run_description_clear) struct run_description got = rewritten();
    ck_assert_str_eq(got.image.name, "python:3.12");
    ck_assert_uint_eq(got.image.pull, RUN_PULL_NEVER);
    free(description.argv[0]);
    description.argv[0] = strdup("ruby");
    refused(ERROR_RUNTIME_NOT_FOUND, "no image for ruby");
    free(image.program);
    free(image.image);
}
END_TEST

START_TEST(options_are_the_workers)
{
    unsigned char own[] = "own";
    unsigned char *strange = calloc(1, 8);
    description.options = (struct wire_bytes){strange, 8};
    CLEANUP(run_description_clear) struct run_description got = rewritten();
    ck_assert_uint_eq(got.options.length, 0);
    configuration.options = (struct wire_bytes){own, sizeof(own)};
    CLEANUP(run_description_clear) struct run_description other = rewritten();
    ck_assert_uint_eq(other.options.length, sizeof(own));
    ck_assert_mem_eq(other.options.bytes, own, sizeof(own));
}
END_TEST

START_TEST(what_is_on_the_gateways_disk_is_refused)
{
    set_text(&description.workspace, "/home/me");
    refused(ERROR_NOT_SUPPORTED, "the workspace is a directory of the gateway's machine");
    set_text(&description.workspace, "");
    set_text(&description.packages.path, "/var/lib/code-execute/environments/x");
    char hash[RUN_HASH_LENGTH + 1] = "";
    memset(hash, 'a', RUN_HASH_LENGTH);
    set_text(&description.packages.sha256, hash);
    refused(ERROR_NOT_SUPPORTED, "the set of packages is on the gateway's machine");
}
END_TEST

START_TEST(no_isolation_is_refused)
{
    description.isolation = RUN_ISOLATION_NONE;
    refused(ERROR_NOT_SUPPORTED, "without isolation");
}
END_TEST

START_TEST(more_than_was_offered_is_refused)
{
    description.limits.memory_bytes = 64 * MIB + 1;
    refused(ERROR_BACKEND_FAILED, "not the one that the gateway has offered");
    description.limits.memory_bytes = 0;
    refused(ERROR_BACKEND_FAILED, "not the one that the gateway has offered");
    description.limits.memory_bytes = MIB;
    description.session.idle_ms = 1000;
    refused(ERROR_BACKEND_FAILED, "not the one that the gateway has offered");
    offer.is_session = 1;
    CLEANUP(run_description_clear) struct run_description got = rewritten();
    ck_assert_uint_eq(got.session.idle_ms, 1000);
    offer.purpose = RUN_PURPOSE_TRIAL;
    refused(ERROR_BACKEND_FAILED, "not the one that the gateway has offered");
}
END_TEST

static struct run_description rewritten_further(void)
{
    struct run_description ret;
    struct error error = {.message = ""};
    size_t length = 0;
    CLEANUP_FREE unsigned char *bytes = encode(&length);
    ck_assert_msg(run_rewrite_further(&configuration, &offer, &bytes, &length, &error), "%s",
                  error.message);
    ck_assert(run_description_decode(bytes, length, &ret));
    return ret;
}

/* Of a session: a cell, or another interpreter. */
START_TEST(what_comes_later_is_no_more_than_the_session)
{
    description.isolation = RUN_ISOLATION_NONE;
    description.limits.memory_bytes = 640 * MIB;
    add(&configuration.runtime_path, "/opt/bin");
    CLEANUP(run_description_clear) struct run_description got = rewritten_further();
    ck_assert_uint_eq(got.limits.memory_bytes, 64 * MIB);
    ck_assert_uint_eq(got.isolation, RUN_ISOLATION_SANDBOX);
    ck_assert_uint_eq(got.outer_uid_base, 700000);
    ck_assert_uint_eq(string_list_count(got.read_only_paths), 1);
    ck_assert_str_eq(got.read_only_paths[0], "/usr");
    ck_assert_str_eq(got.runtime_path[0], "/opt/bin");
    ck_assert_str_eq(got.environment[0], "TOKEN=secret");
    description.limits.memory_bytes = 0; /* without a limit */
    CLEANUP(run_description_clear) struct run_description other = rewritten_further();
    ck_assert_uint_eq(other.limits.memory_bytes, 64 * MIB);
    string_list_free(configuration.runtime_path);
}
END_TEST

START_TEST(a_collection_stays_one)
{
    run_description_clear(&description);
    description = (struct run_description){.outputs = {.files = 3}};
    memset(description.run_id, 'a', RUN_ID_LENGTH);
    add(&description.argv, "-");
    CLEANUP(run_description_clear) struct run_description got = rewritten_further();
    ck_assert_uint_eq(got.outputs.files, 3);
    ck_assert_str_eq(got.argv[0], "-");
}
END_TEST

START_TEST(what_cannot_be_had_comes_no_later)
{
    struct error error = {.message = ""};
    size_t length = 0;
    set_text(&description.workspace, "/home/me");
    CLEANUP_FREE unsigned char *bytes = encode(&length);
    ck_assert(!run_rewrite_further(&configuration, &offer, &bytes, &length, &error));
    ck_assert_int_eq(error.code, ERROR_NOT_SUPPORTED);
    set_text(&description.workspace, "");
    description.network = 1;
    CLEANUP_FREE unsigned char *other = encode(&length);
    ck_assert(!run_rewrite_further(&configuration, &offer, &other, &length, &error));
    ck_assert_int_eq(error.code, ERROR_NOT_SUPPORTED);
}
END_TEST

START_TEST(junk_is_refused)
{
    struct error error = {.message = ""};
    size_t length = 40;
    CLEANUP_FREE unsigned char *bytes = calloc(1, length);
    ck_assert(!run_rewrite(&configuration, &offer, &bytes, &length, &error));
    ck_assert(!run_rewrite_further(&configuration, &offer, &bytes, &length, &error));
    ck_assert_uint_eq(length, 40);
}
END_TEST

/* All that the built-in policy shows to programs, a worker shows too. */
START_TEST(view_of_the_built_in_policy_is_usual)
{
    json_error_t json_error;
    json_auto_t *policy = json_load_file(DEFAULT_POLICY, 0, &json_error);
    ck_assert_msg(policy != NULL, "%s", json_error.text);
    json_auto_t *paths = json_copy(json_object_get(json_object_get(policy, "view"), "read_only"));
    const char *language;
    json_t *section;
    json_object_foreach(json_object_get(policy, "languages"), language, section)(void)
        json_array_extend(paths, json_object_get(section, "read_only"));
    ck_assert_uint_gt(json_array_size(paths), 10);
    string_list_free(TAKE_POINTER(description.read_only_paths));
    for (size_t i = 0; i < json_array_size(paths); i++)
        add(&description.read_only_paths, json_string_value(json_array_get(paths, i)));
    CLEANUP(run_description_clear) struct run_description got = rewritten();
    ck_assert_uint_eq(string_list_count(got.read_only_paths), json_array_size(paths));
}
END_TEST

START_TEST(trial_is_of_the_mode)
{
    struct run_description trial;
    struct error error = {.message = ""};
    size_t length = 0;
    CLEANUP_FREE unsigned char *bytes = run_trial_message(&configuration, &length, &error);
    ck_assert_ptr_nonnull(bytes);
    ck_assert(run_description_decode(bytes, length, &trial));
    ck_assert_uint_eq(trial.purpose, RUN_PURPOSE_TRIAL);
    ck_assert_uint_eq(trial.required, LAYERS_MANDATORY);
    ck_assert_str_eq(trial.argv[0], "sh");
    run_description_clear(&trial);
}
END_TEST

START_TEST(trial_takes_an_image_that_is_there)
{
    struct worker_image image = {.program = (char[]){"python3"}, .image = (char[]){"python:3.12"}};
    struct run_description trial;
    struct error error = {.message = ""};
    size_t length = 0;
    configuration.mode = WORKER_DOCKER;
    configuration.images = &image;
    configuration.image_count = 1;
    CLEANUP_FREE unsigned char *bytes = run_trial_message(&configuration, &length, &error);
    ck_assert_msg(bytes != NULL, "%s", error.message);
    ck_assert(run_description_decode(bytes, length, &trial));
    ck_assert_str_eq(trial.argv[0], "python3");
    ck_assert_str_eq(trial.image.name, "python:3.12");
    ck_assert_uint_eq(trial.required, LAYERS_DOCKER);
    run_description_clear(&trial);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("run rewrite");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, machine_is_the_workers);
    tcase_add_test(cases, layers_only_grow);
    tcase_add_test(cases, endpoints_need_their_broker);
    tcase_add_test(cases, isolation_is_the_modes);
    tcase_add_test(cases, strange_paths_are_not_shown);
    tcase_add_test(cases, configured_paths_replace);
    tcase_add_test(cases, network_is_the_operators_to_give);
    tcase_add_test(cases, images_are_the_workers);
    tcase_add_test(cases, options_are_the_workers);
    tcase_add_test(cases, what_is_on_the_gateways_disk_is_refused);
    tcase_add_test(cases, no_isolation_is_refused);
    tcase_add_test(cases, more_than_was_offered_is_refused);
    tcase_add_test(cases, what_comes_later_is_no_more_than_the_session);
    tcase_add_test(cases, a_collection_stays_one);
    tcase_add_test(cases, what_cannot_be_had_comes_no_later);
    tcase_add_test(cases, junk_is_refused);
    tcase_add_test(cases, view_of_the_built_in_policy_is_usual);
    tcase_add_test(cases, trial_is_of_the_mode);
    tcase_add_test(cases, trial_takes_an_image_that_is_there);
    return run_suite("run rewrite", &cases, 1);
}
