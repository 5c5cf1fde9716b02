/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_file: a file whose reading fails or is interrupted. Nothing of it becomes a policy.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "policy/policy.h"
#include "tap_suite.h"

#define TEXT "{\"max_runs\":1}"

int __real_fstat64(int fd, struct stat *ret);
ssize_t __real_read(int fd, void *bytes, size_t length);
int __wrap_fstat64(int fd, struct stat *ret);
ssize_t __wrap_read(int fd, void *bytes, size_t length);
ssize_t __wrap___read_chk(int fd, void *bytes, size_t length, size_t room); /* where fortified */

static bool no_status;
static int read_error; /* of the next read() */
static size_t at_once = SIZE_MAX;

int __wrap_fstat64(int fd, struct stat *ret)
{
    if (!no_status)
        return __real_fstat64(fd, ret);
    errno = EIO;
    return -1;
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

static char path[] = P_tmpdir "/test-policy-XXXXXX";

static void write_policy(void)
{
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, TEXT, sizeof(TEXT) - 1), sizeof(TEXT) - 1);
    ck_assert_int_eq(close(fd), 0);
}

static void remove_policy(void)
{
    (void)unlink(path);
}

static void expect_refusal(const char *reason)
{
    struct error error;
    ck_assert_ptr_null(policy_load_file(path, &error));
    ck_assert_int_eq(error.code, ERROR_INVALID_POLICY);
    ck_assert_msg(strstr(error.message, reason) != NULL, "%s", error.message);
}

START_TEST(a_file_whose_status_is_unknown_is_refused)
{
    no_status = true;
    expect_refusal("fstat: Input/output error");
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_refused)
{
    read_error = EIO;
    expect_refusal("read: Input/output error");
}
END_TEST

START_TEST(an_interrupted_or_short_read_goes_on)
{
    struct error error;
    read_error = EINTR;
    at_once = 3;
    struct policy *policy = policy_load_file(path, &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    ck_assert_int_eq(read_error, 0);
    json_auto_t *text = json_loads(TEXT, 0, NULL);
    ck_assert_int_eq(json_equal(policy->patch, text), 1);
    policy_unref(policy);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("policy_file")};
    tcase_add_checked_fixture(cases[0], write_policy, remove_policy);
    tcase_add_test(cases[0], a_file_whose_status_is_unknown_is_refused);
    tcase_add_test(cases[0], a_file_that_cannot_be_read_is_refused);
    tcase_add_test(cases[0], an_interrupted_or_short_read_goes_on);
    return run_suite("policy_file", cases, COUNT_OF(cases));
}
