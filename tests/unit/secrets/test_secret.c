/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret, secret_provider, secret_file: what a host or a provider of files and variables may do in
 * the place of giving a value, and calls of the system that fail. Single-threaded.
 */
#include "secrets/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "policy/policy.h"
#include "secrets/secret_provider.h"
#include "tap_suite.h"

#define STRANGER 4242 /* a user that this process is not */

int __real_fstat64(int fd, struct stat *ret);
ssize_t __real_read(int fd, void *bytes, size_t length);
int __real_locked_memory_get(size_t capacity, struct locked_memory *ret);
uid_t __real_geteuid(void);
int __wrap_fstat64(int fd, struct stat *ret);
ssize_t __wrap_read(int fd, void *bytes, size_t length);
ssize_t __wrap___read_chk(int fd, void *bytes, size_t length, size_t room); /* where fortified */
int __wrap_locked_memory_get(size_t capacity, struct locked_memory *ret);
uid_t __wrap_geteuid(void);

static int statuses_left = -1; /* until the one that fails; -1: none does */
static bool of_stranger;       /* what is looked at */
static bool is_stranger;       /* this process */
static int read_error;         /* of the next read() */
static size_t at_once = SIZE_MAX;
static int memories_left = -1;

int __wrap_fstat64(int fd, struct stat *ret)
{
    if (statuses_left >= 0 && statuses_left-- == 0) {
        errno = EIO;
        return -1;
    }
    int result = __real_fstat64(fd, ret);
    if (of_stranger)
        ret->st_uid = STRANGER;
    return result;
}

ssize_t __wrap_read(int fd, void *bytes, size_t length)
{
    if (read_error == 0)
        return __real_read(fd, bytes, length < at_once ? length : at_once);
    errno = read_error;
    read_error = 0;
    return -1;
}

ssize_t __wrap___read_chk(int fd, void *bytes, size_t length, size_t room)
{
    ck_assert_uint_le(length, room);
    return __wrap_read(fd, bytes, length);
}

int __wrap_locked_memory_get(size_t capacity, struct locked_memory *ret)
{
    if (memories_left < 0 || memories_left-- > 0)
        return __real_locked_memory_get(capacity, ret);
    errno = ENOMEM;
    return -1;
}

uid_t __wrap_geteuid(void)
{
    return is_stranger ? STRANGER : __real_geteuid();
}

static char directory[] = P_tmpdir "/test-secret-XXXXXX";
static char file[sizeof(directory) + 8];

static void write_file(void)
{
    ck_assert_ptr_nonnull(mkdtemp(directory));
    (void)snprintf(file, sizeof(file), "%s/key", directory);
    CLEANUP_CLOSE int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "hunter2\n", 8), 8);
}

static void remove_file(void)
{
    (void)unlink(file);
    (void)rmdir(directory);
}

static const struct secret_provider files = {.kind = SECRET_PROVIDER_FILES, .directory = directory};
static char prefix[] = "TEST_SECRET_";
static const struct secret_provider variables = {.kind = SECRET_PROVIDER_ENVIRONMENT,
                                                 .prefix = prefix};

static void expect_found(const struct secret_provider *provider, const char *expected)
{
    struct error error = {0};
    CLEANUP(secret_value_clear) struct secret_value value = {0};
    enum secret_answer answer = secret_provider_read(provider, "key", -1, &value, &error);
    ck_assert_msg(answer == SECRET_FOUND, "%s", error.message);
    ck_assert_uint_eq(value.length, strlen(expected));
    ck_assert_int_eq(memcmp(value.memory.bytes, expected, value.length), 0);
}

static void expect_absent(const struct secret_provider *provider, const char *name)
{
    struct error error;
    struct secret_value value = {.length = 7};
    ck_assert_int_eq(secret_provider_read(provider, name, -1, &value, &error), SECRET_ABSENT);
    ck_assert_ptr_null(value.memory.bytes);
    ck_assert_uint_eq(value.length, 7);
}

static void expect_failed(const struct secret_provider *provider, enum error_code code,
                          const char *message)
{
    struct error error;
    struct secret_value value = {.length = 7};
    ck_assert_int_eq(secret_provider_read(provider, "key", -1, &value, &error), SECRET_FAILED);
    ck_assert_msg(strstr(error.message, message) != NULL, "%s", error.message);
    ck_assert_int_eq(error.code, code);
    ck_assert_ptr_null(value.memory.bytes);
    ck_assert_uint_eq(value.length, 7);
}

START_TEST(a_file_of_ours_is_read)
{
    expect_found(&files, "hunter2");
    of_stranger = true;
    is_stranger = true;
    expect_found(&files, "hunter2");
}
END_TEST

START_TEST(a_file_of_another_user_is_not)
{
    of_stranger = true;
    expect_failed(&files, ERROR_SECRET_UNAVAILABLE, "the directory belongs to another user");
}
END_TEST

START_TEST(a_file_that_others_may_touch_is_refused)
{
    ck_assert_int_eq(chmod(file, 0604), 0);
    expect_failed(&files, ERROR_SECRET_UNAVAILABLE, "users other than its owner may read it");
    struct secret_provider shared = files;
    shared.shared = true;
    expect_found(&shared, "hunter2");
    ck_assert_int_eq(chmod(file, 0606), 0);
    expect_failed(&shared, ERROR_SECRET_UNAVAILABLE, "users other than its owner may write to it");
    ck_assert_int_eq(chmod(file, 0600), 0);
    ck_assert_int_eq(chmod(directory, 0720), 0);
    expect_failed(&files, ERROR_SECRET_UNAVAILABLE, "other users may write to it");
}
END_TEST

START_TEST(only_a_file_that_is_not_there_is_absent)
{
    expect_absent(&files, "other");
    struct secret_provider elsewhere = files;
    elsewhere.directory = (char[]){"/nonexistent/secrets"};
    expect_absent(&elsewhere, "key");
    elsewhere.directory = file;
    expect_failed(&elsewhere, ERROR_SECRET_UNAVAILABLE, "Not a directory");
}
END_TEST

START_TEST(a_link_or_a_directory_is_no_file)
{
    ck_assert_int_eq(unlink(file), 0);
    ck_assert_int_eq(symlink("/dev/null", file), 0);
    expect_failed(&files, ERROR_SECRET_UNAVAILABLE, "Too many levels of symbolic links");
    struct secret_provider links = files;
    links.links = true;
    expect_failed(&links, ERROR_SECRET_UNAVAILABLE, "cannot be read");
    ck_assert_int_eq(unlink(file), 0);
    ck_assert_int_eq(mkdir(file, 0700), 0);
    expect_failed(&files, ERROR_SECRET_UNAVAILABLE, "it is not a regular file");
    ck_assert_int_eq(rmdir(file), 0);
}
END_TEST

/* First the directory, then the file. */
START_TEST(a_file_whose_status_is_unknown_is_refused)
{
    statuses_left = _i;
    expect_failed(&files, ERROR_SECRET_UNAVAILABLE, "Input/output error");
    ck_assert_int_eq(statuses_left, -1);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_refused)
{
    read_error = EIO;
    expect_failed(&files, ERROR_SECRET_UNAVAILABLE, "Input/output error");
    memories_left = 0;
    expect_failed(&files, ERROR_SECRET_UNAVAILABLE, "Cannot allocate memory");
}
END_TEST

START_TEST(an_interrupted_or_short_read_goes_on)
{
    read_error = EINTR;
    at_once = 3;
    expect_found(&files, "hunter2");
    ck_assert_int_eq(read_error, 0);
}
END_TEST

START_TEST(a_file_has_its_limit)
{
    ck_assert_int_eq(truncate(file, SECRET_VALUE_LIMIT + 5), 0);
    expect_failed(&files, ERROR_SECRET_TOO_LARGE, "is longer than 65536 bytes");
    ck_assert_int_eq(truncate(file, 0), 0);
    expect_found(&files, "");
}
END_TEST

START_TEST(systemd_names_its_directory)
{
    static const struct secret_provider systemd = {.kind = SECRET_PROVIDER_SYSTEMD};
    ck_assert_int_eq(unsetenv("CREDENTIALS_DIRECTORY"), 0);
    expect_absent(&systemd, "key");
    ck_assert_int_eq(setenv("CREDENTIALS_DIRECTORY", "relative", 1), 0);
    expect_absent(&systemd, "key");
    ck_assert_int_eq(setenv("CREDENTIALS_DIRECTORY", directory, 1), 0);
    expect_found(&systemd, "hunter2");
    struct secret_provider named = systemd;
    named.directory = directory;
    ck_assert_int_eq(unsetenv("CREDENTIALS_DIRECTORY"), 0);
    expect_found(&named, "hunter2");
}
END_TEST

START_TEST(a_variable_has_the_prefix_and_the_name)
{
    ck_assert_int_eq(unsetenv("TEST_SECRET_key"), 0);
    expect_absent(&variables, "key");
    expect_absent(&variables, "a-name-of-no-variable");
    ck_assert_int_eq(setenv("TEST_SECRET_key", "hunter2", 1), 0);
    expect_found(&variables, "hunter2");
    memories_left = 0;
    expect_failed(&variables, ERROR_OUT_OF_MEMORY, "no memory for the secret \"key\"");
}
END_TEST

START_TEST(a_variable_has_its_limit)
{
    static char text[SECRET_VALUE_LIMIT + 2];
    memset(text, 'a', SECRET_VALUE_LIMIT + 1);
    ck_assert_int_eq(setenv("TEST_SECRET_key", text, 1), 0);
    expect_failed(&variables, ERROR_SECRET_TOO_LARGE, "is longer than 65536 bytes");
    text[SECRET_VALUE_LIMIT] = '\0';
    ck_assert_int_eq(setenv("TEST_SECRET_key", text, 1), 0);
    expect_found(&variables, text);
}
END_TEST

START_TEST(a_policy_says_who_is_asked_and_how)
{
    static const char text[] =
        "{\"secrets\":{\"providers\":["
        "{\"type\":\"systemd\"},{\"type\":\"systemd\",\"directory\":\"/a\"},"
        "{\"type\":\"files\",\"directory\":\"/b\"},"
        "{\"type\":\"files\",\"directory\":\"/c\",\"shared\":true,\"links\":true},"
        "{\"type\":\"environment\",\"prefix\":\"P_\"},"
        "{\"type\":\"command\",\"argv\":[\"/d\",\"{name}\"],\"timeout_ms\":17}]}}";
    struct error error = {0};
    struct policy *policy = policy_load_text("test", text, sizeof(text) - 1, &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    ck_assert_uint_eq(policy->secret_provider_count, 6);
    const struct secret_provider *providers = policy->secret_providers;
    ck_assert_int_eq(providers[0].kind, SECRET_PROVIDER_SYSTEMD);
    ck_assert_ptr_null(providers[0].directory);
    ck_assert_str_eq(providers[1].directory, "/a");
    ck_assert_int_eq(providers[2].kind, SECRET_PROVIDER_FILES);
    ck_assert(!providers[2].shared && !providers[2].links);
    ck_assert_str_eq(providers[3].directory, "/c");
    ck_assert(providers[3].shared && providers[3].links);
    ck_assert_int_eq(providers[4].kind, SECRET_PROVIDER_ENVIRONMENT);
    ck_assert_str_eq(providers[4].prefix, "P_");
    ck_assert_int_eq(providers[5].kind, SECRET_PROVIDER_COMMAND);
    ck_assert_str_eq(providers[5].argv[1], SECRET_NAME_PLACEHOLDER);
    ck_assert_uint_eq(providers[5].timeout_ms, 17);
    policy_unref(policy);
}
END_TEST

/* What a host says, first and when it is asked again. */
struct answers {
    uint32_t verdicts[2];
    size_t lengths[2];
    size_t asked;
};

static void read_secret(void *user, const char *name, void *buffer, size_t capacity, size_t *length,
                        uint32_t *verdict)
{
    struct answers *answers = user;
    ck_assert_str_eq(name, "key");
    ck_assert_uint_lt(answers->asked, 2);
    *length = answers->lengths[answers->asked];
    *verdict = answers->verdicts[answers->asked++];
    memset(buffer, 'h', *length < capacity ? *length : capacity);
}

#define ALLOW  TOOL_VERDICT_ALLOW
#define ABSENT TOOL_VERDICT_ABSENT
#define DENY   TOOL_VERDICT_DENY
#define LONG   5000 /* more than the first buffer has */

/* A provider has the secret too. */
static const struct {
    struct answers answers;
    int memories_left;
    size_t asked;
    size_t length; /* of the value; 0: none */
    enum error_code code;
} hosts[] = {
    {{{ALLOW}, {3}, 0}, -1, 1, 3, 0},
    {{{ALLOW}, {4096}, 0}, -1, 1, 4096, 0},
    {{{ALLOW, ALLOW}, {LONG, LONG}, 0}, -1, 2, LONG, 0},
    {{{ALLOW, ALLOW}, {LONG, 3}, 0}, -1, 2, 3, 0},
    {{{ABSENT}, {0}, 0}, -1, 1, 7, 0},
    {{{DENY}, {0}, 0}, -1, 1, 0, ERROR_UNKNOWN_SECRET},
    {{{ALLOW, DENY}, {LONG, LONG}, 0}, -1, 2, 0, ERROR_UNKNOWN_SECRET},
    {{{ALLOW, ABSENT}, {LONG, LONG}, 0}, -1, 2, 0, ERROR_UNKNOWN_SECRET},
    {{{ALLOW, ALLOW}, {LONG, SIZE_MAX}, 0}, -1, 2, 0, ERROR_SECRET_TOO_LARGE},
    {{{ALLOW}, {3}, 0}, 0, 0, 0, ERROR_OUT_OF_MEMORY},
    {{{ALLOW, ALLOW}, {LONG, LONG}, 0}, 1, 1, 0, ERROR_OUT_OF_MEMORY},
};

START_TEST(a_host_has_the_last_word_unless_it_knows_nothing)
{
    struct answers answers = hosts[_i].answers;
    const struct tool_host host = {.user = &answers, .read_secret = read_secret};
    const struct secret_sources sources = {&host, &files, 1, -1};
    struct error error;
    CLEANUP(secret_value_clear) struct secret_value value = {0};
    memories_left = hosts[_i].memories_left;
    bool found = secret_value_read(&sources, "key", &value, &error);
    ck_assert_uint_eq(answers.asked, hosts[_i].asked);
    ck_assert_int_eq(found, hosts[_i].length > 0);
    ck_assert_uint_eq(value.length, hosts[_i].length);
    if (found)
        ck_assert_int_eq(value.memory.bytes[value.length - 1],
                         answers.verdicts[0] == ABSENT ? '2' : 'h');
    else
        ck_assert_int_eq(error.code, hosts[_i].code);
}
END_TEST

START_TEST(a_secret_that_no_source_has_is_unknown)
{
    static const struct tool_host host = {0};
    const struct secret_sources sources = {&host, &files, 1, -1};
    struct error error;
    struct secret_value value = {0};
    ck_assert(!secret_value_read(&sources, "other", &value, &error));
    ck_assert_int_eq(error.code, ERROR_UNKNOWN_SECRET);
    ck_assert_ptr_null(value.memory.bytes);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("secret")};
    tcase_add_checked_fixture(cases[0], write_file, remove_file);
    tcase_add_test(cases[0], a_file_of_ours_is_read);
    tcase_add_test(cases[0], a_file_of_another_user_is_not);
    tcase_add_test(cases[0], a_file_that_others_may_touch_is_refused);
    tcase_add_test(cases[0], only_a_file_that_is_not_there_is_absent);
    tcase_add_test(cases[0], a_link_or_a_directory_is_no_file);
    tcase_add_loop_test(cases[0], a_file_whose_status_is_unknown_is_refused, 0, 2);
    tcase_add_test(cases[0], a_file_that_cannot_be_read_is_refused);
    tcase_add_test(cases[0], an_interrupted_or_short_read_goes_on);
    tcase_add_test(cases[0], a_file_has_its_limit);
    tcase_add_test(cases[0], systemd_names_its_directory);
    tcase_add_test(cases[0], a_variable_has_the_prefix_and_the_name);
    tcase_add_test(cases[0], a_variable_has_its_limit);
    tcase_add_test(cases[0], a_policy_says_who_is_asked_and_how);
    tcase_add_loop_test(cases[0], a_host_has_the_last_word_unless_it_knows_nothing, 0,
                        COUNT_OF(hosts));
    tcase_add_test(cases[0], a_secret_that_no_source_has_is_unknown);
    return run_suite("secret", cases, COUNT_OF(cases));
}
