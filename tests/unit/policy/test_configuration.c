/* SPDX-License-Identifier: Apache-2.0 */
/*
 * configuration: what a host prepared is in force or refused, never replaced by a default, whatever
 * comes first from other threads. Each test is a process of its own.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/docker/messages/docker_messages.h"
#include "base/cleanup.h"
#include "policy/configuration.h"
#include "tap_suite.h"

#define THREADS 8
#define ROUNDS  50

static void *use_current(void *unused)
{
    struct configuration configuration = {0};
    struct error error;
    if (configuration_current(&configuration, &error))
        configuration_clear(&configuration);
    (void)unused;
    return NULL;
}

static bool prepare(const char *config_json, struct error *error)
{
    bool sweep = false;
    return configuration_prepare(config_json, &sweep, error);
}

/* First calls of other threads, which read the environment, while the host prepares. */
static void prepare_among_first_calls(const char *config_json)
{
    pthread_t threads[THREADS];
    struct error error;
    configuration_forget();
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use_current, NULL), 0);
    (void)prepare(config_json, &error);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
}

START_TEST(a_prepared_configuration_stays)
{
    for (int i = 0; i < ROUNDS; i++) {
        CLEANUP(configuration_clear) struct configuration current = {0};
        struct error error;
        prepare_among_first_calls("{\"sandbox\":\"docker\"}");
        ck_assert(configuration_current(&current, &error));
        ck_assert_int_eq(current.mode, SANDBOX_MODE_DOCKER);
    }
}
END_TEST

START_TEST(a_first_refusal_refuses_calls_until_a_good_one)
{
    struct configuration current = {0};
    struct error error;
    ck_assert(!prepare("{\"sandbox\":\"dokcer\"}", &error));
    for (int i = 0; i < 2; i++) {
        error.code = ERROR_INTERNAL;
        ck_assert(!configuration_current(&current, &error));
        ck_assert_int_eq(error.code, ERROR_UNKNOWN_MODE);
    }
    ck_assert(prepare("{\"sandbox\":\"process\"}", &error));
    ck_assert(!prepare("{\"sandbox\":\"none\"}", &error));
    ck_assert_int_eq(error.code, ERROR_MODE_NOT_ALLOWED);
    ck_assert(configuration_current(&current, &error));
    ck_assert_int_eq(current.mode, SANDBOX_MODE_PROCESS);
    configuration_clear(&current);
}
END_TEST

START_TEST(a_sweep_is_had_by_asking)
{
    struct error error;
    bool sweep = true;
    ck_assert(configuration_prepare("{}", &sweep, &error));
    ck_assert(!sweep);
    ck_assert(configuration_prepare("{\"sweep\":true}", &sweep, &error));
    ck_assert(sweep);
}
END_TEST

START_TEST(the_built_in_policy_keeps_sessions_where_it_is_told_to)
{
    CLEANUP(configuration_clear) struct configuration with = {0}, without = {0};
    struct error error;
    ck_assert(prepare("{\"keep_sessions\":3}", &error));
    ck_assert(configuration_current(&with, &error));
    ck_assert_uint_eq(with.policy->sessions.max_total, 3);
    ck_assert_uint_gt(with.policy->sessions.checkpoints, 0);
    ck_assert(prepare("{}", &error));
    ck_assert(configuration_current(&without, &error));
    ck_assert_uint_eq(without.policy->sessions.max_total, 0);
    ck_assert_str_ne(with.policy->base_sha256, without.policy->base_sha256);
}
END_TEST

START_TEST(a_policy_file_decides_alone_about_sessions)
{
    CLEANUP(configuration_clear) struct configuration current = {0};
    struct error error;
    char path[] = "/tmp/test-configuration-XXXXXX";
    CLEANUP_CLOSE int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "{}", 2), 2);
    ck_assert_int_eq(setenv("CODE_EXEC_POLICY", path, 1), 0);
    bool prepared = prepare("{\"keep_sessions\":3}", &error);
    (void)unlink(path);
    (void)unsetenv("CODE_EXEC_POLICY");
    ck_assert_msg(prepared, "%s", error.message);
    ck_assert(configuration_current(&current, &error));
    ck_assert_uint_eq(current.policy->sessions.max_total, 0);
}
END_TEST

/* The variables of every docker client, where the policy does not say which engine. */
START_TEST(the_environment_names_the_engine)
{
    CLEANUP(configuration_clear) struct configuration current = {0};
    struct error error;
    ck_assert_int_eq(setenv("DOCKER_HOST", "tcp://h:1", 1), 0);
    ck_assert_int_eq(setenv("DOCKER_TLS_VERIFY", "1", 1), 0);
    ck_assert_int_eq(setenv("DOCKER_CERT_PATH", "/c", 1), 0);
    ck_assert_int_eq(setenv("DOCKER_CONFIG", "/d", 1), 0);
    ck_assert_msg(prepare("{}", &error), "%s", error.message);
    ck_assert(configuration_current(&current, &error));
    CLEANUP(docker_options_clear) struct docker_options options;
    ck_assert(docker_options_read(&current.policy->options[SANDBOX_MODE_DOCKER], &options));
    ck_assert_str_eq(options.host, "tcp://h:1");
    ck_assert_str_eq(options.certificates, "/c");
    ck_assert_str_eq(options.config_directory, "/d");
    ck_assert(options.tls);
    ck_assert_int_eq(setenv("DOCKER_CERT_PATH", "relative", 1), 0);
    ck_assert(!prepare("{}", &error));
    ck_assert_int_eq(error.code, ERROR_INVALID_POLICY);
}
END_TEST

static const struct {
    const char *json;
    enum error_code code;
} refused[] = {
    {"", ERROR_INVALID_POLICY},
    {"[]", ERROR_INVALID_POLICY},
    {"{\"sandbx\":\"process\"}", ERROR_INVALID_POLICY},
    {"{\"sandbox\":null}", ERROR_INVALID_POLICY},
    {"{\"keep_sessions\":0}", ERROR_INVALID_POLICY},
    {"{\"keep_sessions\":1025}", ERROR_INVALID_POLICY},
    {"{\"keep_sessions\":true}", ERROR_INVALID_POLICY},
    {"{\"sandbox\":\"\"}", ERROR_UNKNOWN_MODE},
    {"{\"sandbox\":\"Process\"}", ERROR_UNKNOWN_MODE},
    {"{\"policy_file\":\"relative.json\"}", ERROR_INVALID_POLICY},
    {"{\"policy_file\":\"\"}", ERROR_INVALID_POLICY},
    {"{\"policy_file\":\"/no/such/file\"}", ERROR_INVALID_POLICY},
    {"{\"sandbox\":\"process\",\"sandbox\":\"none\"}", ERROR_INVALID_POLICY},
};

START_TEST(refuses_what_it_cannot_use)
{
    struct error error;
    ck_assert(!prepare(refused[_i].json, &error));
    ck_assert_msg(error.code == refused[_i].code, "%s", error.message);
}
END_TEST

START_TEST(an_empty_variable_is_a_mistake)
{
    struct configuration current = {0};
    struct error error;
    ck_assert_int_eq(setenv("CODE_EXEC_SANDBOX", "", 1), 0);
    ck_assert(!configuration_current(&current, &error));
    ck_assert_int_eq(error.code, ERROR_UNKNOWN_MODE);
    ck_assert_int_eq(setenv("CODE_EXEC_SANDBOX", "docker", 1), 0);
    ck_assert(configuration_current(&current, &error)); /* tried again */
    ck_assert_int_eq(current.mode, SANDBOX_MODE_DOCKER);
    configuration_clear(&current);
}
END_TEST

int main(void)
{
    (void)unsetenv("CODE_EXEC_SANDBOX");
    (void)unsetenv("CODE_EXEC_POLICY");
    TCase *cases[] = {tcase_create("configuration")};
    tcase_set_timeout(cases[0], 60);
    tcase_add_test(cases[0], a_sweep_is_had_by_asking);
    tcase_add_test(cases[0], the_built_in_policy_keeps_sessions_where_it_is_told_to);
    tcase_add_test(cases[0], a_policy_file_decides_alone_about_sessions);
    tcase_add_test(cases[0], the_environment_names_the_engine);
    tcase_add_test(cases[0], a_prepared_configuration_stays);
    tcase_add_test(cases[0], a_first_refusal_refuses_calls_until_a_good_one);
    tcase_add_loop_test(cases[0], refuses_what_it_cannot_use, 0, COUNT_OF(refused));
    tcase_add_test(cases[0], an_empty_variable_is_a_mistake);
    return run_suite("configuration", cases, COUNT_OF(cases));
}
