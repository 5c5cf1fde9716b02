/* SPDX-License-Identifier: Apache-2.0 */
/*
 * configuration: which of policy and environment names the engine, what of either is refused, and
 * what other threads can do in between. Each test is a process of its own; single-threaded, other
 * threads are played where they would come.
 */
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/docker/messages/docker_messages.h"
#include "base/cleanup.h"
#include "policy/configuration.h"
#include "tap_suite.h"

char *__real_strdup(const char *string);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
struct policy *__real_policy_load_builtin(struct error *error);
char *__wrap_strdup(const char *string);
int __wrap_asprintf(char **ret, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap___asprintf_chk(char **ret, int flag, const char *format, ...)
    __attribute__((format(printf, 3, 4))); /* where fortified */
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
struct policy *__wrap_policy_load_builtin(struct error *error);

static bool no_memory;
static void (*while_loading)(void);
static unsigned
    locks_until; /* the call of pthread_mutex_lock() before which before_lock is called */
static void (*before_lock)(void);

char *__wrap_strdup(const char *string)
{
    return no_memory ? NULL : __real_strdup(string);
}

__attribute__((format(printf, 2, 0))) static int print(char **ret, const char *format,
                                                       va_list arguments)
{
    return no_memory ? -1 : vasprintf(ret, format, arguments);
}

int __wrap_asprintf(char **ret, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = print(ret, format, arguments);
    va_end(arguments);
    return length;
}

int __wrap___asprintf_chk(char **ret, int flag, const char *format, ...)
{
    (void)flag;
    va_list arguments;
    va_start(arguments, format);
    int length = print(ret, format, arguments);
    va_end(arguments);
    return length;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (locks_until > 0 && --locks_until == 0)
        before_lock();
    return __real_pthread_mutex_lock(mutex);
}

struct policy *__wrap_policy_load_builtin(struct error *error)
{
    if (while_loading != NULL)
        TAKE_POINTER(while_loading)();
    return __real_policy_load_builtin(error);
}

static bool prepare(const char *config_json, struct error *error)
{
    bool sweep = false;
    return configuration_prepare(config_json, &sweep, error);
}

/* As prepare(), under that policy. */
static bool prepare_with_policy(const char *policy, struct error *error)
{
    char path[] = P_tmpdir "/test-configuration-XXXXXX";
    char configuration[128];
    size_t length = strlen(policy);
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, policy, length), (ssize_t)length);
    (void)close(fd);
    (void)snprintf(configuration, sizeof(configuration), "{\"policy_file\":\"%s\"}", path);
    bool accepted = prepare(configuration, error);
    (void)unlink(path);
    return accepted;
}

static void set(const char *name, const char *value)
{
    ck_assert_int_eq(setenv(name, value, 1), 0);
}

static void take_current(struct configuration *ret)
{
    struct error error;
    ck_assert_msg(configuration_current(ret, &error), "%s", error.message);
}

static struct docker_options options_of(const struct configuration *configuration)
{
    struct docker_options options;
    ck_assert(docker_options_read(&configuration->policy->options[SANDBOX_MODE_DOCKER], &options));
    return options;
}

START_TEST(an_engine_of_the_policy_is_not_replaced)
{
    static const char *const policies[] = {"{\"docker\":{\"host\":\"h\",\"certificates\":\"/p\"}}",
                                           "{\"docker\":{\"context\":\"c\"}}"};
    CLEANUP(configuration_clear) struct configuration current = {0};
    struct error error;
    set("DOCKER_HOST", "tcp://other:1");
    set("DOCKER_CONTEXT", "other");
    set("DOCKER_CERT_PATH", "/environment");
    ck_assert_msg(prepare_with_policy(policies[_i], &error), "%s", error.message);
    take_current(&current);
    CLEANUP(docker_options_clear) struct docker_options options = options_of(&current);
    ck_assert_str_eq(options.host, _i == 0 ? "h" : "");
    ck_assert_str_eq(options.context, _i == 0 ? "" : "c");
    ck_assert_str_eq(options.certificates, _i == 0 ? "/p" : "/environment");
    ck_assert_int_eq(options.tls, _i == 0);
}
END_TEST

START_TEST(an_empty_variable_of_docker_says_nothing)
{
    CLEANUP(configuration_clear) struct configuration current = {0};
    set("DOCKER_HOST", "");
    set("DOCKER_TLS_VERIFY", "");
    take_current(&current);
    CLEANUP(docker_options_clear) struct docker_options options = options_of(&current);
    ck_assert_str_eq(options.host, "");
    ck_assert(!options.tls);
}
END_TEST

START_TEST(a_home_has_docker_s_directory)
{
    static const char *const homes[][2] = {
        {"/home/me", "/home/me/.docker"}, {"relative", ""}, {"", ""}, {NULL, ""}};
    CLEANUP(configuration_clear) struct configuration current = {0};
    (void)unsetenv("DOCKER_CONFIG");
    (void)unsetenv("HOME");
    if (homes[_i][0] != NULL)
        set("HOME", homes[_i][0]);
    take_current(&current);
    CLEANUP(docker_options_clear) struct docker_options options = options_of(&current);
    ck_assert_str_eq(options.config_directory, homes[_i][1]);
}
END_TEST

static const char *const variables[] = {"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CERT_PATH",
                                        "DOCKER_CONFIG"};

START_TEST(a_variable_that_is_too_long_is_refused)
{
    static char value[2 * PATH_MAX];
    struct error error;
    memset(value, '/', sizeof(value) - 1);
    set(variables[_i], value);
    ck_assert(!prepare("{}", &error));
    ck_assert_int_eq(error.code, ERROR_INVALID_POLICY);
    ck_assert_int_eq(strncmp(error.message, variables[_i], strlen(variables[_i])), 0);
}
END_TEST

START_TEST(no_memory_is_no_default)
{
    struct error error;
    set(variables[_i], "/value");
    no_memory = true;
    bool accepted = prepare("{}", &error);
    no_memory = false;
    ck_assert(!accepted);
    ck_assert_int_eq(error.code, ERROR_OUT_OF_MEMORY);
}
END_TEST

START_TEST(without_memory_there_is_no_home)
{
    struct error error;
    (void)unsetenv("DOCKER_CONFIG");
    set("HOME", "/home/me");
    no_memory = true;
    bool accepted = prepare("{}", &error);
    no_memory = false;
    ck_assert(!accepted);
    ck_assert_int_eq(error.code, ERROR_OUT_OF_MEMORY);
}
END_TEST

START_TEST(a_relative_directory_is_refused)
{
    struct error error;
    set("DOCKER_CONFIG", "relative");
    ck_assert(!prepare("{}", &error));
    ck_assert_str_eq(error.message, "DOCKER_CONFIG must be an absolute path");
}
END_TEST

START_TEST(a_mode_that_the_policy_lacks_is_refused)
{
    struct error error;
    set("CODE_EXEC_SANDBOX", "process");
    ck_assert(!prepare_with_policy("{\"modes\":{\"default\":\"docker\",\"allowed\":[\"docker\"]}}",
                                   &error));
    ck_assert_int_eq(error.code, ERROR_MODE_NOT_ALLOWED);
    ck_assert_str_eq(error.message, "the policy does not allow mode process (it allows: docker)");
}
END_TEST

static void prepare_badly(void)
{
    struct error error;
    ck_assert(!prepare("{\"sandbox\":\"dokcer\"}", &error));
}

/* The host's word comes while a first call reads the environment. */
START_TEST(a_refusal_in_between_refuses_the_first_call)
{
    struct configuration current = {0};
    struct error error;
    while_loading = prepare_badly;
    ck_assert(!configuration_current(&current, &error));
    ck_assert_int_eq(error.code, ERROR_UNKNOWN_MODE);
    ck_assert_ptr_null(current.policy);
}
END_TEST

static struct configuration of_another;

static void be_first(void)
{
    take_current(&of_another);
}

START_TEST(two_first_calls_have_one_configuration)
{
    CLEANUP(configuration_clear) struct configuration current = {0};
    while_loading = be_first;
    take_current(&current);
    ck_assert_ptr_nonnull(of_another.policy);
    ck_assert_ptr_eq(current.policy, of_another.policy);
    configuration_clear(&of_another);
}
END_TEST

/* A shutdown comes when the first call has put its configuration in force: it has it still. */
START_TEST(a_shutdown_in_between_leaves_the_first_call_its_own)
{
    CLEANUP(configuration_clear) struct configuration current = {0};
    before_lock = configuration_forget;
    locks_until = 3; /* looked for, put in force, taken */
    take_current(&current);
    ck_assert_uint_eq(locks_until, 0);
    ck_assert_ptr_nonnull(current.policy);
    ck_assert_int_eq(current.mode, SANDBOX_MODE_PROCESS);
}
END_TEST

int main(void)
{
    static const char *const others[] = {"CODE_EXEC_SANDBOX", "CODE_EXEC_POLICY",
                                         "DOCKER_TLS_VERIFY"};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        (void)unsetenv(others[i]);
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        (void)unsetenv(variables[i]);
    TCase *cases[] = {tcase_create("engine"), tcase_create("refusals"), tcase_create("threads")};
    tcase_add_loop_test(cases[0], an_engine_of_the_policy_is_not_replaced, 0, 2);
    tcase_add_test(cases[0], an_empty_variable_of_docker_says_nothing);
    tcase_add_loop_test(cases[0], a_home_has_docker_s_directory, 0, 4);
    tcase_add_loop_test(cases[1], a_variable_that_is_too_long_is_refused, 0, COUNT_OF(variables));
    tcase_add_loop_test(cases[1], no_memory_is_no_default, 0, COUNT_OF(variables));
    tcase_add_test(cases[1], without_memory_there_is_no_home);
    tcase_add_test(cases[1], a_relative_directory_is_refused);
    tcase_add_test(cases[1], a_mode_that_the_policy_lacks_is_refused);
    tcase_add_test(cases[2], a_refusal_in_between_refuses_the_first_call);
    tcase_add_test(cases[2], two_first_calls_have_one_configuration);
    tcase_add_test(cases[2], a_shutdown_in_between_leaves_the_first_call_its_own);
    return run_suite("configuration_environment", cases, COUNT_OF(cases));
}
