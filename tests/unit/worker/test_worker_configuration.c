/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's configuration: what it accepts, and that each refusal names its place. One thread. */
#include <string.h>

#include "backends/worker/configuration.h"
#include "base/cleanup.h"
#include "protocol/layers.h"
#include "tap_suite.h"
#include "json/json_input.h"

static const char least[] =
    "{\"name\": \"worker-1\", \"listen\": \"127.0.0.1:7443\","
    " \"tls\": {\"authority\": \"/a/ca.pem\", \"certificate\": \"/a/c.pem\", \"key\": "
    "\"/a/k.pem\"},"
    " \"gateways\": [\"gateway.example\"], \"mode\": \"process\", \"max_runs\": 8,"
    " \"memory_total_bytes\": 4294967296}";

static json_t *parse(const char *text)
{
    static const struct json_input_limits limits = {.max_bytes = 65536, .max_depth = 8};
    struct error error;
    json_t *value = json_input_parse("test", text, strlen(text), &limits, ERROR_INTERNAL, &error);
    ck_assert_msg(value != NULL, "%s: %s", text, error.message);
    return value;
}

/* The least configuration with a merge patch on it. */
static bool read_patched(const char *patch, struct worker_configuration *ret, struct error *error)
{
    json_auto_t *value = parse(least);
    json_auto_t *changes = parse(patch);
    ck_assert(merge_patch(value, changes));
    CLEANUP_FREE char *text = json_dumps(value, 0);
    ck_assert_ptr_nonnull(text);
    return worker_configuration_parse("worker.json", text, strlen(text), ret, error);
}

START_TEST(least_is_enough)
{
    CLEANUP(worker_configuration_clear) struct worker_configuration configuration = {.name = NULL};
    struct error error = {.message = ""};
    ck_assert_msg(read_patched("{}", &configuration, &error), "%s", error.message);
    ck_assert_str_eq(configuration.name, "worker-1");
    ck_assert_str_eq(configuration.tls_key, "/a/k.pem");
    ck_assert_str_eq(configuration.gateways[0], "gateway.example");
    ck_assert_ptr_null(configuration.gateways[1]);
    ck_assert_uint_eq(configuration.mode, WORKER_PROCESS);
    ck_assert_uint_eq(configuration.drain_seconds, 60);
    ck_assert_uint_eq(configuration.pool_ready, 4);
    ck_assert_uint_eq(configuration.outer_uid_base, 2000000000);
    ck_assert(!configuration.allows_network);
    ck_assert_ptr_null(configuration.read_only);
    ck_assert_ptr_null(configuration.status_listen);
    ck_assert_uint_eq(configuration.options.length, 0);
}
END_TEST

START_TEST(all_members_are_read)
{
    CLEANUP(worker_configuration_clear) struct worker_configuration configuration = {.name = NULL};
    struct error error = {.message = ""};
    bool read = read_patched(
        "{\"listen\": \"[::]:7443\", \"mode\": \"unprivileged\", \"drain_seconds\": 0,"
        " \"require\": [\"cgroup\"], \"network\": true, \"runtime_path\": [\"/opt/bin\"],"
        " \"read_only\": [\"/opt\"], \"outer_uids\": {\"first\": 100000, \"count\": 10},"
        " \"pool\": {\"ready\": 1, \"most\": 2, \"memory_bytes\": 0, \"idle_ms\": 5},"
        " \"process\": {\"scratch_directory\": \"/scratch\"}}",
        &configuration, &error);
    ck_assert_msg(read, "%s", error.message);
    ck_assert_uint_eq(configuration.required, LAYER_BIT(LAYER_CGROUP));
    ck_assert(configuration.allows_network);
    ck_assert_str_eq(configuration.runtime_path[0], "/opt/bin");
    ck_assert_str_eq(configuration.read_only[0], "/opt");
    ck_assert_uint_eq(configuration.outer_uid_count, 10);
    ck_assert_uint_eq(configuration.pool_most, 2);
    ck_assert_uint_gt(configuration.options.length, 0);
}
END_TEST

START_TEST(images_are_by_program)
{
    CLEANUP(worker_configuration_clear) struct worker_configuration configuration = {.name = NULL};
    struct error error = {.message = ""};
    bool read = read_patched("{\"mode\": \"docker\", \"docker\": {\"images\": {\"python3\": \"py\","
                             " \"*\": \"all\"}, \"host\": \"unix:///run/docker.sock\"}}",
                             &configuration, &error);
    ck_assert_msg(read, "%s", error.message);
    ck_assert_str_eq(worker_image_of(&configuration, "/usr/bin/python3"), "py");
    ck_assert_str_eq(worker_image_of(&configuration, "sh"), "all");
    ck_assert_str_eq(worker_mode_program(WORKER_DOCKER), "code-execute-docker");
}
END_TEST

static const struct {
    const char *patch;
    const char *words; /* of the message */
} refused[] = {
    {"{\"nmae\": \"x\"}", "worker.json: /nmae: unknown member"},
    {"{\"name\": null}", "/name: missing"},
    {"{\"name\": \"\"}", "/name: must not be empty"},
    {"{\"name\": \"a b\"}", "/name: must be printable ASCII without blanks"},
    {"{\"name\": 7}", "/name: must be a string"},
    {"{\"listen\": \"localhost:7443\"}", "/listen: must be a numeric address with a port"},
    {"{\"listen\": \"127.0.0.1\"}", "/listen: must be a numeric address"},
    {"{\"listen\": \"127.0.0.1:65536\"}", "/listen: must be a numeric address"},
    {"{\"listen\": \"::1:80\"}", "/listen: must be a numeric address"},
    {"{\"listen\": \"127.0.0.1:+80\"}", "/listen: must be a numeric address"},
    {"{\"tls\": null}", "/tls: missing"},
    {"{\"tls\": {\"key\": null}}", "/tls/key: missing"},
    {"{\"tls\": {\"key\": \"k.pem\"}}", "/tls/key: must be an absolute path"},
    {"{\"tls\": {\"key\": \"/a/../k.pem\"}}", "/tls/key: must not have empty, \".\" or \"..\""},
    {"{\"tls\": {\"ciphers\": \"x\"}}", "/tls/ciphers: unknown member"},
    {"{\"gateways\": []}", "/gateways: must have at least 1 member"},
    {"{\"gateways\": [\"*.example\"]}", "/gateways/0: must be a DNS name in lower case"},
    {"{\"gateways\": [\"a.example\", \"B.example\"]}", "/gateways/1: must be a DNS name"},
    {"{\"mode\": \"none\"}", "/mode: must be process, unprivileged or docker"},
    {"{\"max_runs\": 0}", "/max_runs: must be"},
    {"{\"max_runs\": 1025}", "/max_runs: must be"},
    {"{\"max_runs\": 1.5}", "/max_runs: must be"},
    {"{\"memory_total_bytes\": 1}", "/memory_total_bytes: must be"},
    {"{\"drain_seconds\": -1}", "/drain_seconds: must be"},
    {"{\"require\": [\"cgroups\"]}", "/require/0: must be the name of a layer"},
    {"{\"require\": [\"endpoint_broker\"]}", "/require/0: must be the name of a layer"},
    {"{\"network\": \"yes\"}", "/network: must be"},
    {"{\"runtime_path\": []}", "/runtime_path: must have at least 1 member"},
    {"{\"read_only\": [\"/usr\", \"/\"]}", "/read_only/1: must not be /, nor in /proc"},
    {"{\"read_only\": [\"/proc/1\"]}", "/read_only/0: must not be /, nor in /proc"},
    {"{\"outer_uids\": {\"first\": 0, \"count\": 5}}", "/outer_uids/first: must be"},
    {"{\"outer_uids\": {\"first\": 4294967290, \"count\": 50}}", "/outer_uids: must end below"},
    {"{\"pool\": {\"ready\": 257}}", "/pool/ready: must be"},
    {"{\"pool\": {\"ready\": 17}}", "/pool/most: must be at least \"ready\", 17"},
    {"{\"process\": {}}", "/process: is for mode unprivileged alone"},
    {"{\"docker\": {\"images\": {}}}", "/docker: is for mode docker alone"},
    {"{\"mode\": \"docker\"}", "/docker: missing"},
    {"{\"mode\": \"docker\", \"docker\": {}}", "/docker/images: missing"},
    {"{\"mode\": \"docker\", \"docker\": {\"images\": {}}}",
     "/docker/images: must have at least 1"},
    {"{\"mode\": \"docker\", \"docker\": {\"images\": {\"/bin/sh\": \"x\"}}}",
     "/docker/images/~1bin~1sh: must be the name of a program"},
#ifndef WORKER_HAS_STATUS
    {"{\"status_listen\": \"127.0.0.1:80\"}", "/status_listen: this installation has no server"},
#else
    {"{\"status_listen\": \"somewhere:80\"}", "/status_listen: must be a numeric address"},
#endif
};

START_TEST(refusals_name_their_place)
{
    struct worker_configuration configuration = {.name = NULL};
    struct error error = {.message = ""};
    bool read = read_patched(refused[_i].patch, &configuration, &error);
    ck_assert_msg(!read, "%s", refused[_i].patch);
    ck_assert_int_eq(error.code, ERROR_INVALID_POLICY);
    ck_assert_msg(strstr(error.message, refused[_i].words) != NULL, "%s: %s", refused[_i].patch,
                  error.message);
    ck_assert_ptr_null(configuration.name);
}
END_TEST

START_TEST(text_is_bounded)
{
    struct worker_configuration configuration;
    struct error error = {.message = ""};
    ck_assert(!worker_configuration_parse("w", "[]", 2, &configuration, &error));
    ck_assert(!worker_configuration_parse("w", "", 0, &configuration, &error));
    CLEANUP_FREE char *text = calloc(1, WORKER_CONFIGURATION_LIMIT + 1);
    ck_assert_ptr_nonnull(text);
    ck_assert(!worker_configuration_parse("w", text, WORKER_CONFIGURATION_LIMIT + 1, &configuration,
                                          &error));
    ck_assert_ptr_nonnull(strstr(error.message, "longer than"));
}
END_TEST

START_TEST(file_of_others_is_refused)
{
    struct worker_configuration configuration;
    struct error error = {.message = ""};
    ck_assert(!worker_configuration_read("/nonexistent/worker.json", &configuration, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "configuration /nonexistent/worker.json"));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("worker configuration");
    tcase_add_test(cases, least_is_enough);
    tcase_add_test(cases, all_members_are_read);
    tcase_add_test(cases, images_are_by_program);
    tcase_add_loop_test(cases, refusals_name_their_place, 0, (int)COUNT_OF(refused));
    tcase_add_test(cases, text_is_bounded);
    tcase_add_test(cases, file_of_others_is_refused);
    return run_suite("worker configuration", &cases, 1);
}
