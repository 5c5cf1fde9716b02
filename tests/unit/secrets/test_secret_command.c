/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_command: what the helper is told, and one that lies, dies or falls silent. The helper's
 * end of the control socket is the test's, its reply lies there before it is asked for. No value
 * comes of anything but a whole reply. Single-threaded.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../support/failing_memory.h"
#include "base/cleanup.h"
#include "program/backend_program.h"
#include "protocol/orders/secret_order.h"
#include "secrets/secret_provider.h"
#include "tap_suite.h"

#define NEVER_FAILS 100 /* allocations; more than reading a secret makes */

int __real_poll(struct pollfd *entries, nfds_t count, int timeout);
int __real_locked_memory_get(size_t capacity, struct locked_memory *ret);
int __wrap_poll(struct pollfd *entries, nfds_t count, int timeout);
int __wrap___poll_chk(struct pollfd *entries, nfds_t count, int timeout, size_t room);
int __wrap_locked_memory_get(size_t capacity, struct locked_memory *ret);
int __wrap_backend_program_start(const char *name, struct backend_program *ret,
                                 struct error *error);

/* What the helper says; a reply is an outcome, a detail and a value. */
static struct helper {
    bool absent;
    bool dies;   /* before the order */
    bool silent; /* it ends without a reply */
    struct secret_reply reply;
    const char *value;
    size_t surplus; /* bytes behind what the reply's head says */
} helper;
static int their_end = -1;
static bool no_locked_memory;
static int poll_error;     /* of the next poll() */
static bool nothing_comes; /* poll() ends with its time, at once */

int __wrap_poll(struct pollfd *entries, nfds_t count, int timeout)
{
    PAUSE_FAILING_MEMORY;
    ck_assert_int_gt(timeout, SECRET_COMMAND_GRACE_MS / 2);
    if (nothing_comes)
        return 0;
    if (poll_error == 0)
        return __real_poll(entries, count, timeout);
    errno = poll_error;
    poll_error = 0;
    return -1;
}

int __wrap___poll_chk(struct pollfd *entries, nfds_t count, int timeout, size_t room)
{
    ck_assert_uint_le(count * sizeof(*entries), room);
    return __wrap_poll(entries, count, timeout);
}

int __wrap_locked_memory_get(size_t capacity, struct locked_memory *ret)
{
    if (!no_locked_memory)
        return __real_locked_memory_get(capacity, ret);
    errno = ENOMEM;
    return -1;
}

static void put_reply(void)
{
    static unsigned char message[2 * SECRET_REPLY_LIMIT];
    size_t length = SECRET_REPLY_HEADER + helper.reply.length + helper.surplus;
    ck_assert_uint_le(length, sizeof(message));
    memset(message, 'x', sizeof(message));
    secret_reply_encode(&helper.reply, message);
    if (helper.value != NULL)
        memcpy(message + SECRET_REPLY_HEADER, helper.value, strlen(helper.value));
    ck_assert_int_eq(send(their_end, message, length, 0), (ssize_t)length);
}

int __wrap_backend_program_start(const char *name, struct backend_program *ret, struct error *error)
{
    PAUSE_FAILING_MEMORY;
    int pair[2];
    ck_assert_str_eq(name, "code-execute-secret");
    if (helper.absent)
        return error_set(error, ERROR_BACKEND_UNAVAILABLE, "it is not there");
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    close_fd(their_end);
    their_end = pair[1];
    if (helper.dies)
        close_fd(TAKE_FD(their_end));
    else if (helper.silent)
        ck_assert_int_eq(shutdown(their_end, SHUT_WR), 0);
    else
        put_reply();
    *ret = (struct backend_program){.owner = getpid(), .control = pair[0], .pidfd = -1};
    return 0;
}

static char *argv[] = {(char[]){"/bin/get"}, (char[]){"--"}, (char[]){"{name}"}, NULL};
static char *environment[] = {(char[]){"PATH=/mine"}, (char[]){"A=b"}, NULL};
static char *inherit[] = {(char[]){"TEST_SECRET_TOKEN"}, (char[]){"TEST_SECRET_ABSENT"}, NULL};

static const struct secret_provider provider = {
    .kind = SECRET_PROVIDER_COMMAND,
    .argv = argv,
    .environment = environment,
    .inherit = inherit,
    .timeout_ms = 1,
};

static void helper_says(enum secret_outcome outcome, uint32_t detail, const char *value)
{
    size_t length = value != NULL ? strlen(value) : 0;
    helper = (struct helper){.reply = {outcome, detail, length}, .value = value};
}

static void expect_value(const struct secret_provider *asked, const char *expected)
{
    struct error error;
    CLEANUP(secret_value_clear) struct secret_value value = {0};
    ck_assert_int_eq(secret_provider_read(asked, "key", -1, &value, &error), SECRET_FOUND);
    ck_assert_uint_eq(value.length, strlen(expected));
    ck_assert_int_eq(memcmp(value.memory.bytes, expected, value.length), 0);
}

static void expect_failure_of(int cancel_fd, enum error_code code, const char *message)
{
    struct error error;
    struct secret_value value = {.length = 7};
    ck_assert_int_eq(secret_provider_read(&provider, "key", cancel_fd, &value, &error),
                     SECRET_FAILED);
    ck_assert_msg(strstr(error.message, message) != NULL, "%s", error.message);
    ck_assert_int_eq(error.code, code);
    ck_assert_ptr_null(value.memory.bytes);
    ck_assert_uint_eq(value.length, 7);
}

static void expect_failure(enum error_code code, const char *message)
{
    expect_failure_of(-1, code, message);
}

/* What the helper was told; the caller clears it. */
static struct secret_order received_order(void)
{
    static unsigned char message[SECRET_ORDER_LIMIT];
    struct secret_order order;
    ssize_t length = recv(their_end, message, sizeof(message), 0);
    ck_assert_int_gt(length, 0);
    ck_assert(secret_order_decode(message, (size_t)length, &order));
    return order;
}

static void expect_strings(char **strings, const char *const *expected)
{
    size_t i = 0;
    for (; expected[i] != NULL; i++)
        ck_assert_str_eq(strings[i], expected[i]);
    ck_assert_ptr_null(strings[i]);
}

START_TEST(the_helper_is_told_all_and_no_more)
{
    ck_assert_int_eq(setenv("TEST_SECRET_TOKEN", "t", 1), 0);
    ck_assert_int_eq(unsetenv("TEST_SECRET_ABSENT"), 0);
    helper_says(SECRET_OUTCOME_VALUE, 0, "hunter2\n");
    expect_value(&provider, "hunter2");
    CLEANUP(secret_order_clear) struct secret_order order = received_order();
    expect_strings(order.argv, (const char *const[]){"/bin/get", "--", "key", NULL});
    expect_strings(order.environment,
                   (const char *const[]){"PATH=/mine", "TEST_SECRET_TOKEN=t", "A=b", NULL});
    ck_assert_uint_eq(order.timeout_ms, provider.timeout_ms);
}
END_TEST

START_TEST(nothing_need_be_inherited_or_set)
{
    struct secret_provider plain = provider;
    plain.inherit = NULL;
    plain.environment = NULL;
    helper_says(SECRET_OUTCOME_VALUE, 0, "");
    expect_value(&plain, "");
    CLEANUP(secret_order_clear) struct secret_order order = received_order();
    ck_assert_int_eq(strncmp(order.environment[0], "PATH=/usr/", 10), 0);
    ck_assert_ptr_null(order.environment[1]);
}
END_TEST

static const struct {
    enum secret_outcome outcome;
    uint32_t detail;
    enum error_code code;
    const char *message;
} failures[] = {
    {SECRET_OUTCOME_TOO_LARGE, 0, ERROR_SECRET_TOO_LARGE, "is longer than 65536 bytes"},
    {SECRET_OUTCOME_NOT_STARTED, ENOENT, ERROR_SECRET_UNAVAILABLE,
     "cannot be started: No such file or directory"},
    {SECRET_OUTCOME_STATUS, 3, ERROR_SECRET_UNAVAILABLE, "ended with status 3"},
    {SECRET_OUTCOME_SIGNAL, 9, ERROR_SECRET_UNAVAILABLE, "was ended by signal 9"},
    {SECRET_OUTCOME_TIMEOUT, 0, ERROR_SECRET_UNAVAILABLE, "did not end in time and was killed"},
    {SECRET_OUTCOME_FAULT, EMFILE, ERROR_SECRET_UNAVAILABLE, "was not run: Too many open files"},
    {SECRET_OUTCOME_COUNT, 0, ERROR_SECRET_UNAVAILABLE, "code-execute-secret did not answer"},
};

START_TEST(says_what_the_helper_says)
{
    helper_says(failures[_i].outcome, failures[_i].detail, NULL);
    expect_failure(failures[_i].code, failures[_i].message);
}
END_TEST

/* The line feed at the end of the longest is not counted. */
START_TEST(a_value_has_its_limit)
{
    static char text[SECRET_VALUE_LIMIT + 2];
    memset(text, 'a', SECRET_VALUE_LIMIT + 1);
    helper_says(SECRET_OUTCOME_VALUE, 0, text);
    expect_failure(ERROR_SECRET_TOO_LARGE, "is longer than 65536 bytes");
    text[SECRET_VALUE_LIMIT] = '\n';
    helper_says(SECRET_OUTCOME_VALUE, 0, text);
    struct error error;
    CLEANUP(secret_value_clear) struct secret_value value = {0};
    ck_assert_int_eq(secret_provider_read(&provider, "key", -1, &value, &error), SECRET_FOUND);
    ck_assert_uint_eq(value.length, SECRET_VALUE_LIMIT);
}
END_TEST

START_TEST(a_reply_that_lies_about_its_length_is_none)
{
    helper_says(SECRET_OUTCOME_VALUE, 0, "hunter2");
    helper.surplus = 1;
    expect_failure(ERROR_SECRET_UNAVAILABLE, "code-execute-secret did not answer");
    helper.surplus = SECRET_REPLY_LIMIT;
    expect_failure(ERROR_SECRET_UNAVAILABLE, "code-execute-secret did not answer");
    helper.surplus = 0;
    expect_value(&provider, "hunter2");
}
END_TEST

START_TEST(a_helper_may_not_start_or_die)
{
    helper = (struct helper){.absent = true};
    expect_failure(ERROR_SECRET_UNAVAILABLE, "was not run: it is not there");
    helper = (struct helper){.dies = true};
    expect_failure(ERROR_SECRET_UNAVAILABLE, "could not be started: Broken pipe");
    helper = (struct helper){.silent = true};
    expect_failure(ERROR_SECRET_UNAVAILABLE, "code-execute-secret did not answer");
}
END_TEST

START_TEST(the_wait_ends_with_a_helper_that_does_not)
{
    helper_says(SECRET_OUTCOME_VALUE, 0, "hunter2");
    nothing_comes = true;
    expect_failure(ERROR_SECRET_UNAVAILABLE,
                   "did not end, and the program that runs it does not answer");
    nothing_comes = false;
    poll_error = ENOMEM;
    expect_failure(ERROR_SECRET_UNAVAILABLE,
                   "did not end, and the program that runs it does not answer");
}
END_TEST

START_TEST(an_interrupted_wait_goes_on)
{
    helper_says(SECRET_OUTCOME_VALUE, 0, "hunter2");
    poll_error = EINTR;
    expect_value(&provider, "hunter2");
    ck_assert_int_eq(poll_error, 0);
}
END_TEST

/* Also where the reply has come. */
START_TEST(a_cancelled_call_gets_no_value)
{
    int cancel[2];
    ck_assert_int_eq(pipe2(cancel, O_CLOEXEC), 0);
    ck_assert_int_eq(write(cancel[1], "c", 1), 1);
    helper_says(SECRET_OUTCOME_VALUE, 0, "hunter2");
    expect_failure_of(cancel[0], ERROR_CANCELLED, "cancelled while its secrets were fetched");
    close_fd(cancel[0]);
    close_fd(cancel[1]);
}
END_TEST

START_TEST(says_so_where_memory_ends)
{
    ck_assert_int_eq(setenv("TEST_SECRET_TOKEN", "t", 1), 0);
    helper_says(SECRET_OUTCOME_VALUE, 0, "hunter2");
    long allocations = 0;
    for (;; allocations++) {
        struct error error;
        CLEANUP(secret_value_clear) struct secret_value value = {0};
        ck_assert_int_lt(allocations, NEVER_FAILS);
        memory_left = allocations;
        enum secret_answer answer = secret_provider_read(&provider, "key", -1, &value, &error);
        bool failed = memory_left < 0;
        memory_left = -1;
        if (!failed)
            break;
        ck_assert_int_eq(answer, SECRET_FAILED);
        ck_assert_int_eq(error.code, ERROR_OUT_OF_MEMORY);
        ck_assert_int_le(recv(their_end, &(char){0}, 1, 0), 0); /* nothing was asked for */
    }
    ck_assert_int_gt(allocations, 10);
    no_locked_memory = true;
    expect_failure(ERROR_OUT_OF_MEMORY, "no memory for the secret \"key\"");
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("secret_command")};
    tcase_add_test(cases[0], the_helper_is_told_all_and_no_more);
    tcase_add_test(cases[0], nothing_need_be_inherited_or_set);
    tcase_add_loop_test(cases[0], says_what_the_helper_says, 0, COUNT_OF(failures));
    tcase_add_test(cases[0], a_value_has_its_limit);
    tcase_add_test(cases[0], a_reply_that_lies_about_its_length_is_none);
    tcase_add_test(cases[0], a_helper_may_not_start_or_die);
    tcase_add_test(cases[0], the_wait_ends_with_a_helper_that_does_not);
    tcase_add_test(cases[0], an_interrupted_wait_goes_on);
    tcase_add_test(cases[0], a_cancelled_call_gets_no_value);
    tcase_add_test(cases[0], says_so_where_memory_ends);
    return run_suite("secret_command", cases, COUNT_OF(cases));
}
