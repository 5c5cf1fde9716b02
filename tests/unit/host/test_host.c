/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host and secret: what a host of any size and honesty gives, and what becomes of a secret's value.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/host.h"
#include "secrets/secret.h"
#include "tap_suite.h"

/* What the lying callbacks do. */
struct liar {
    uint32_t verdict;
    size_t length; /* what read_secret says */
    char fill;
    int calls;
    size_t last_capacity;
};

static void check_capability(void *user, const char *capability, uint32_t *verdict)
{
    (void)capability;
    *verdict = ((struct liar *)user)->verdict;
}

static void request_approval(void *user, uint64_t token, const char *request_json,
                             uint32_t *verdict)
{
    (void)token;
    check_capability(user, request_json, verdict);
}

static void read_secret(void *user, const char *name, void *buffer, size_t capacity, size_t *length,
                        uint32_t *verdict)
{
    struct liar *liar = user;
    ck_assert_str_eq(name, "name");
    liar->calls++;
    liar->last_capacity = capacity;
    memset(buffer, liar->fill, liar->length < capacity ? liar->length : capacity);
    *length = liar->length;
    *verdict = liar->verdict;
}

static void check_content(void *user, const char *request_json, char *answer, size_t capacity,
                          size_t *length, uint32_t *verdict)
{
    struct liar *liar = user;
    (void)request_json;
    memset(answer, liar->fill, liar->length < capacity ? liar->length : capacity);
    *length = liar->length;
    *verdict = liar->verdict;
}

static int given_descriptor; /* by open_file */

static void open_file(void *user, const char *ref, int32_t *descriptor, uint64_t *size,
                      uint32_t *verdict)
{
    struct liar *liar = user;
    ck_assert_str_eq(ref, "ref");
    ck_assert_int_eq(*descriptor, -1);
    *descriptor = given_descriptor;
    *size = liar->length;
    *verdict = liar->verdict;
}

static struct tool_host host_of(struct liar *liar)
{
    return (struct tool_host){
        .struct_size = sizeof(struct tool_host),
        .abi_version = TOOL_ABI_VERSION,
        .user = liar,
        .call_id = 5,
        .check_capability = check_capability,
        .request_approval = request_approval,
        .read_secret = read_secret,
        .check_content = check_content,
        .open_file = open_file,
        .audit = check_capability,
    };
}

START_TEST(copies_whole_members_only)
{
    struct liar liar = {.verdict = TOOL_VERDICT_ALLOW};
    struct tool_host full = host_of(&liar);
    struct tool_host zero = {0};
    for (uint32_t size = 0; size <= sizeof(full) + 16; size++) {
        struct tool_host copy;
        full.struct_size = size;
        (void)host_copy(&full, &copy);
        size_t taken = size < sizeof(full) ? size / 8 * 8 : sizeof(full);
        if (size < offsetof(struct tool_host, call_id))
            taken = 0;
        if (size == 0) { /* forgotten: the log hears of it */
            ck_assert_ptr_eq(copy.user, full.user);
            copy.user = NULL;
        }
        ck_assert_int_eq(memcmp(&copy, &full, taken), 0);
        ck_assert_int_eq(memcmp((char *)&copy + taken, &zero, sizeof(copy) - taken), 0);
    }
}
END_TEST

START_TEST(takes_nothing_from_another_major_version)
{
    struct liar liar = {.verdict = TOOL_VERDICT_ALLOW};
    struct tool_host host = host_of(&liar);
    struct tool_host copy;
    host.abi_version = 2u << 16;
    host_copy(&host, &copy);
    ck_assert_ptr_null((void *)copy.check_capability);
    host_copy(NULL, &copy);
    ck_assert_ptr_null((void *)copy.check_capability);
    host.abi_version = TOOL_ABI_VERSION + 9;
    host_copy(&host, &copy);
    ck_assert(host_grants_capability(&copy, "x"));
}
END_TEST

START_TEST(denies_for_every_other_verdict)
{
    static const uint32_t verdicts[] = {0,
                                        1,
                                        UINT32_MAX,
                                        TOOL_VERDICT_ALLOW ^ 1,
                                        TOOL_VERDICT_ALLOW + 1,
                                        TOOL_VERDICT_LATER,
                                        TOOL_VERDICT_PENDING};
    struct liar liar = {.verdict = TOOL_VERDICT_ALLOW};
    const struct tool_host host = host_of(&liar);
    const struct tool_host nobody = {0};
    size_t length = 77;
    char buffer[8];
    ck_assert(host_grants_capability(&host, "x") && host_audit(&host, "{}"));
    ck_assert_uint_eq(host_request_approval(&host, 1, "{}"), TOOL_VERDICT_ALLOW);
    for (size_t i = 0; i < COUNT_OF(verdicts); i++) {
        liar.verdict = verdicts[i];
        bool waits = verdicts[i] == TOOL_VERDICT_LATER || verdicts[i] == TOOL_VERDICT_PENDING;
        ck_assert(!host_grants_capability(&host, "x") && !host_audit(&host, "{}"));
        ck_assert(!host_read_secret(&host, "name", buffer, sizeof(buffer), &length));
        ck_assert_uint_eq(host_request_approval(&host, 1, "{}"),
                          waits ? verdicts[i] : TOOL_VERDICT_DENY);
    }
    liar.verdict = TOOL_VERDICT_ABSENT;
    ck_assert_uint_eq(host_read_secret(&host, "name", buffer, sizeof(buffer), &length),
                      TOOL_VERDICT_ABSENT);
    ck_assert(!host_grants_capability(&host, "x") && !host_audit(&host, "{}"));
    ck_assert_uint_eq(host_request_approval(&host, 1, "{}"), TOOL_VERDICT_DENY);
    ck_assert(!host_grants_capability(&nobody, "x") && !host_audit(&nobody, "{}"));
    ck_assert(!host_read_secret(&nobody, "name", buffer, sizeof(buffer), &length));
    ck_assert_uint_eq(host_request_approval(&nobody, 1, "{}"), TOOL_VERDICT_DENY);
    ck_assert_uint_eq(length, 77);
    host_output(&nobody, 1, "x", 1);
    host_log(&nobody, 1, "%s", "x");
}
END_TEST

/* Taken where it is allowed, whole, and there is who gives it. */
START_TEST(takes_an_answer_about_content_that_fits)
{
    struct liar liar = {.verdict = TOOL_VERDICT_ALLOW, .length = 8, .fill = 'x'};
    const struct tool_host host = host_of(&liar);
    const struct tool_host nobody = {0};
    char answer[8];
    size_t length = 77;
    ck_assert(host_checks_content(&host) && !host_checks_content(&nobody));
    ck_assert(!host_check_content(&nobody, "{}", answer, sizeof(answer), &length));
    liar.length = sizeof(answer) + 1;
    ck_assert(!host_check_content(&host, "{}", answer, sizeof(answer), &length));
    liar.length = sizeof(answer);
    liar.verdict = TOOL_VERDICT_LATER;
    ck_assert(!host_check_content(&host, "{}", answer, sizeof(answer), &length));
    ck_assert_uint_eq(length, 77);
    liar.verdict = TOOL_VERDICT_ALLOW;
    ck_assert(host_check_content(&host, "{}", answer, sizeof(answer), &length));
    ck_assert_uint_eq(length, sizeof(answer));
    ck_assert_int_eq(answer[7], 'x');
}
END_TEST

/* It is ours once it is allowed, closed where it is refused, and not touched without an ALLOW. */
START_TEST(takes_a_descriptor_only_with_an_allow)
{
    struct liar liar = {.verdict = TOOL_VERDICT_ALLOW};
    struct tool_host host = host_of(&liar);
    struct error error;
    uint64_t size = 77;
    int fd = -7;
    given_descriptor = memfd_create("given", 0);
    ck_assert_int_eq(write(given_descriptor, "four", 4), 4);
    static const uint32_t denials[] = {TOOL_VERDICT_DENY, TOOL_VERDICT_LATER, 1};
    for (size_t i = 0; i < COUNT_OF(denials); i++) {
        liar.verdict = denials[i];
        liar.length = 4;
        ck_assert(!host_open_file(&host, "ref", &fd, &size, &error));
        ck_assert_int_eq(error.code, ERROR_FILE_NOT_FOUND);
        ck_assert_int_eq(fcntl(given_descriptor, F_GETFD), 0);
    }
    liar.verdict = TOOL_VERDICT_ALLOW;
    ck_assert(host_open_file(&host, "ref", &fd, &size, &error));
    ck_assert_int_eq(fd, given_descriptor);
    ck_assert_uint_eq(size, 4);
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    liar.length = 5;
    size = 77;
    ck_assert(!host_open_file(&host, "ref", &fd, &size, &error));
    ck_assert_int_eq(fcntl(given_descriptor, F_GETFD), -1);
    ck_assert_uint_eq(size, 77);
    host.open_file = NULL;
    ck_assert(!host_open_file(&host, "ref", &fd, &size, &error));
    ck_assert_int_eq(error.code, ERROR_FILE_NOT_FOUND);
}
END_TEST

static const struct {
    size_t length;
    char fill;
    int calls;
    int error; /* -1: none */
} secrets[] = {
    {0, 'x', 1, -1},
    {1, 'x', 1, -1},
    {4096, 'x', 1, -1},
    {4097, 'x', 2, -1},
    {SECRET_VALUE_LIMIT, 'x', 2, -1},
    {SECRET_VALUE_LIMIT + 1, 'x', 2, ERROR_SECRET_TOO_LARGE},
    {SIZE_MAX, 'x', 2, ERROR_SECRET_TOO_LARGE},
};

START_TEST(reads_secrets_of_any_length)
{
    struct liar liar = {
        .verdict = TOOL_VERDICT_ALLOW, .length = secrets[_i].length, .fill = secrets[_i].fill};
    const struct tool_host host = host_of(&liar);
    struct secret_value value = {0};
    struct error error = {0};
    bool taken = secret_value_read(&(struct secret_sources){.host = &host, .cancel_fd = -1}, "name",
                                   &value, &error);
    ck_assert_int_eq(taken, secrets[_i].error < 0);
    ck_assert_int_eq(liar.calls, secrets[_i].calls);
    ck_assert_uint_le(liar.last_capacity, SECRET_VALUE_LIMIT);
    if (taken) {
        ck_assert_uint_eq(value.length, secrets[_i].length);
        for (size_t i = 0; i < value.length; i++)
            ck_assert_int_eq(value.memory.bytes[i], 'x');
    } else {
        ck_assert_int_eq((int)error.code, secrets[_i].error);
        ck_assert_ptr_null(value.memory.bytes);
    }
    secret_value_clear(&value);
    secret_value_clear(&value);
}
END_TEST

START_TEST(has_no_secret_that_is_refused)
{
    struct liar liar = {.verdict = TOOL_VERDICT_DENY, .length = 8, .fill = 'x'};
    const struct tool_host host = host_of(&liar);
    struct secret_value value = {0};
    struct error error;
    ck_assert(!secret_value_read(&(struct secret_sources){.host = &host, .cancel_fd = -1}, "name",
                                 &value, &error));
    ck_assert_int_eq(error.code, ERROR_UNKNOWN_SECRET);
    ck_assert_ptr_null(value.memory.bytes);
}
END_TEST

static void deny_second(void *user, const char *name, void *buffer, size_t capacity, size_t *length,
                        uint32_t *verdict)
{
    struct liar *liar = user;
    read_secret(user, name, buffer, capacity, length, verdict);
    liar->verdict = TOOL_VERDICT_DENY;
}

START_TEST(has_no_secret_that_is_refused_when_it_is_long)
{
    struct liar liar = {.verdict = TOOL_VERDICT_ALLOW, .length = 5000, .fill = 'x'};
    struct tool_host host = host_of(&liar);
    struct secret_value value = {0};
    struct error error;
    host.read_secret = deny_second;
    ck_assert(!secret_value_read(&(struct secret_sources){.host = &host, .cancel_fd = -1}, "name",
                                 &value, &error));
    ck_assert_int_eq(liar.calls, 2);
    ck_assert_int_eq(error.code, ERROR_UNKNOWN_SECRET);
    ck_assert_ptr_null(value.memory.bytes);
}
END_TEST

START_TEST(asks_for_no_secret_without_memory)
{
    struct liar liar = {.verdict = TOOL_VERDICT_ALLOW, .length = 8, .fill = 'x'};
    const struct tool_host host = host_of(&liar);
    struct secret_value value = {0};
    struct error error;
    struct rlimit before;
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
    bool taken = secret_value_read(&(struct secret_sources){.host = &host, .cancel_fd = -1}, "name",
                                   &value, &error);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
    ck_assert(!taken);
    ck_assert_int_eq(error.code, ERROR_OUT_OF_MEMORY);
    ck_assert_int_eq(liar.calls, 0);
}
END_TEST

struct listener {
    char heard[64];
    uint32_t level;
};

static void hear_output(void *user, uint32_t stream, const void *bytes, size_t length)
{
    struct listener *listener = user;
    listener->level = stream;
    (void)snprintf(listener->heard, sizeof(listener->heard), "%.*s", (int)length,
                   (const char *)bytes);
}

static void hear_log(void *user, uint32_t level, const char *message)
{
    hear_output(user, level, message, strlen(message));
}

START_TEST(tells_what_there_is_to_tell)
{
    struct listener listener = {.heard = "nothing"};
    const struct tool_host host = {.user = &listener, .on_output = hear_output, .log = hear_log};
    host_output(&host, TOOL_STREAM_STDERR, "x", 0);
    ck_assert_str_eq(listener.heard, "nothing");
    host_output(&host, TOOL_STREAM_STDERR, "xyz", 2);
    ck_assert_str_eq(listener.heard, "xy");
    ck_assert_uint_eq(listener.level, TOOL_STREAM_STDERR);
    host_log(&host, TOOL_LOG_ERROR, "run %d", 5);
    ck_assert_str_eq(listener.heard, "run 5");
    ck_assert_uint_eq(listener.level, TOOL_LOG_ERROR);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("host"), tcase_create("secret")};
    tcase_add_test(cases[0], copies_whole_members_only);
    tcase_add_test(cases[0], takes_nothing_from_another_major_version);
    tcase_add_test(cases[0], denies_for_every_other_verdict);
    tcase_add_test(cases[0], takes_an_answer_about_content_that_fits);
    tcase_add_test(cases[0], takes_a_descriptor_only_with_an_allow);
    tcase_add_test(cases[0], tells_what_there_is_to_tell);
    tcase_add_loop_test(cases[1], reads_secrets_of_any_length, 0, COUNT_OF(secrets));
    tcase_add_test(cases[1], has_no_secret_that_is_refused);
    tcase_add_test(cases[1], has_no_secret_that_is_refused_when_it_is_long);
    tcase_add_test(cases[1], asks_for_no_secret_without_memory);
    return run_suite("host", cases, COUNT_OF(cases));
}
