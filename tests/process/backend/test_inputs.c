/* SPDX-License-Identifier: Apache-2.0 */
/* What a backend may be given besides everyday runs: orders that are none, sweeps, limits that are
 * none, files that cannot be. */
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "suite.h"

/* The write end of a pipe is closed everywhere, so that its reader sees the end. */
static bool is_at_end(int fd)
{
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    char byte;
    return poll(&entry, 1, 5000) == 1 && read(fd, &byte, 1) == 0;
}

START_TEST(an_order_that_is_none_is_dropped_with_its_descriptors)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(channel_send(backend.control, "?", 1, &ends[1], 1), 0);
    close_fd(ends[1]);
    ck_assert(is_at_end(ends[0]));
    close_fd(ends[0]);
    struct run_description description = describe(WORDS("echo", "hi"));
    expect_output(&description, "hi\n");
}
END_TEST

static void expect_an_answer_only(uint32_t purpose)
{
    struct run_description description = describe(WORDS("echo", "hi"));
    description.purpose = purpose;
    run(&backend, &description, &outcome);
    ck_assert(!outcome.started);
    ck_assert_str_eq(outcome.output, "");
    ck_assert_uint_eq(outcome.end.failure, RUN_FAILURE_NONE);
    expect_cause(&outcome, RUN_CAUSE_EXIT);
    ck_assert_int_eq(outcome.end.exit_code, 0);
}

START_TEST(a_sweep_is_answered_and_starts_nothing)
{
    expect_an_answer_only(RUN_PURPOSE_SWEEP);
}
END_TEST

/* Nothing is kept ready for a command without an interpreter. */
START_TEST(so_is_the_question_what_is_prepared)
{
    expect_an_answer_only(RUN_PURPOSE_PREPARE);
    ck_assert_uint_eq(outcome.end.preparation, PREPARATION_NONE);
}
END_TEST

START_TEST(no_limit_of_time_is_none_and_neither_is_one_beyond_the_clock)
{
    static const uint64_t limits[] = {0, UINT64_MAX / 1000, UINT64_MAX};
    for (uint32_t isolation = RUN_ISOLATION_NONE; isolation <= RUN_ISOLATION_SANDBOX; isolation++) {
        for (size_t i = 0; i < COUNT_OF(limits); i++) {
            struct run_description description = describe(WORDS("sh", "-c", "sleep 0.1; echo hi"));
            description.isolation = isolation;
            description.limits.wall_ms = limits[i];
            expect_output(&description, "hi\n");
        }
    }
}
END_TEST

/* The plugin refuses such a request; a backend does not count on it. */
START_TEST(a_file_below_a_file_stops_the_run)
{
    static char first_path[] = "a";
    static char second_path[] = "a/b";
    static unsigned char content[] = "x";
    struct run_file files[] = {{.path = first_path, .content = content, .length = 1},
                               {.path = second_path, .content = content, .length = 1}};
    for (uint32_t isolation = RUN_ISOLATION_NONE; isolation <= RUN_ISOLATION_SANDBOX; isolation++) {
        struct run_description description = describe(WORDS("echo", "hi"));
        description.isolation = isolation;
        description.files = files;
        description.file_count = COUNT_OF(files);
        run(&backend, &description, &outcome);
        ck_assert(!outcome.started);
        ck_assert_str_eq(outcome.output, "");
        ck_assert_uint_ne(outcome.end.failure, RUN_FAILURE_NONE);
    }
}
END_TEST

static char input_path[] = "d/in";
static struct run_file by_reference = {.path = input_path,
                                       .length = sizeof(HARNESS_INPUT) - 1,
                                       .by_reference = true,
                                       .sha256 = HARNESS_INPUT_HASH};

static struct run_description read_input(uint32_t isolation)
{
    static const char *const words[] = {"cat", input_path, NULL};
    struct run_description description = describe((char **)(uintptr_t)words);
    description.isolation = isolation;
    description.files = &by_reference;
    description.file_count = 1;
    return description;
}

START_TEST(a_file_by_reference_arrives)
{
    for (uint32_t isolation = RUN_ISOLATION_NONE; isolation <= RUN_ISOLATION_SANDBOX; isolation++) {
        struct run_description description = read_input(isolation);
        expect_output(&description, HARNESS_INPUT);
    }
}
END_TEST

static void expect_no_start(const int *fds, size_t count, uint32_t failure)
{
    for (uint32_t isolation = RUN_ISOLATION_NONE; isolation <= RUN_ISOLATION_SANDBOX; isolation++) {
        struct run_description description = read_input(isolation);
        harness_give_inputs(fds, count);
        run(&backend, &description, &outcome);
        harness_give_inputs(NULL, 0);
        ck_assert(!outcome.started);
        ck_assert_str_eq(outcome.output, "");
        ck_assert_uint_eq(outcome.end.failure, failure);
    }
}

/* The plugin refuses each of them; a backend does not count on it. */
START_TEST(a_descriptor_that_is_none_of_such_a_file_stops_the_run)
{
    int ends[2];
    static const char other[] = "By reference\n";
    ck_assert_int_eq(pipe(ends), 0);
    const int directory = open("/", O_RDONLY | O_DIRECTORY);
    const int writable = open("/dev/null", O_WRONLY);
    const int empty = open("/dev/null", O_RDONLY);
    const int same_size = memfd_create("other", 0);
    ck_assert_int_eq(write(same_size, other, sizeof(other) - 1), sizeof(other) - 1);
    const int fds[] = {ends[0], ends[1], directory, writable, empty, same_size};
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        expect_no_start(&fds[i], 1, RUN_FAILURE_INPUT_FILE);
    expect_no_start(fds, 0, RUN_FAILURE_INTERNAL);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        close_fd(fds[i]);
    struct run_description description = read_input(RUN_ISOLATION_SANDBOX);
    expect_output(&description, HARNESS_INPUT);
}
END_TEST

START_TEST(a_home_that_is_given_stays)
{
    for (uint32_t isolation = RUN_ISOLATION_NONE; isolation <= RUN_ISOLATION_SANDBOX; isolation++) {
        struct run_description description = describe(WORDS("sh", "-c", "echo $HOME $USER"));
        description.isolation = isolation;
        description.environment = WORDS("HOME=/given", "HOMER=/other");
        expect_output(&description, "/given sandbox\n");
    }
}
END_TEST

START_TEST(a_program_is_a_name_or_an_absolute_path)
{
    static const char *const names[] = {"./sh", "bin/sh", "/no/such/program", "/usr/bin"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct run_description description = describe(WORDS(names[i]));
        run(&backend, &description, &outcome);
        ck_assert(!outcome.started);
        ck_assert_uint_eq(outcome.end.failure, RUN_FAILURE_RUNTIME_MISSING);
        ck_assert_str_eq(outcome.end.message, names[i]);
    }
}
END_TEST

int main(void)
{
    suite_begin("inputs");
    suite_add(an_order_that_is_none_is_dropped_with_its_descriptors, NULL);
    suite_add(a_sweep_is_answered_and_starts_nothing, NULL);
    suite_add(so_is_the_question_what_is_prepared, NULL);
    suite_add(no_limit_of_time_is_none_and_neither_is_one_beyond_the_clock, NULL);
    suite_add(a_file_below_a_file_stops_the_run, NULL);
    suite_add(a_file_by_reference_arrives, NULL);
    suite_add(a_descriptor_that_is_none_of_such_a_file_stops_the_run, NULL);
    suite_add(a_home_that_is_given_stays, NULL);
    suite_add(a_program_is_a_name_or_an_absolute_path, NULL);
    return suite_end();
}
