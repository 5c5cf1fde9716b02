/* SPDX-License-Identifier: Apache-2.0 */
/* Much at a time, and in which order: a backend that prints from a process of its own, a plugin
 * that reads slowly or not at all. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "pair.h"
#include "tap_suite.h"

#define FLOOD_BYTES ((size_t)100 << 20)

static struct pair pair;

static const struct run_wish wish = {
    .description = "d", .description_length = 1, .results = true, .files = true, .tools = true};

/* Byte number at of a stream. */
static unsigned char pattern(size_t at)
{
    return (unsigned char)(at * 31 + (at >> 8));
}

/* As much as the pipe takes; how much was written so far. */
static size_t print(int fd, size_t at, size_t total)
{
    unsigned char bytes[8192];
    while (at < total) {
        size_t count = total - at < sizeof(bytes) ? total - at : sizeof(bytes);
        for (size_t i = 0; i < count; i++)
            bytes[i] = pattern(at + i);
        ssize_t written = write(fd, bytes, count);
        if (written < 0)
            return at;
        at += (size_t)written;
    }
    return at;
}

static size_t take(int fd, size_t at, size_t most)
{
    unsigned char bytes[16384];
    size_t end = at + most;
    while (at < end) {
        size_t count = end - at < sizeof(bytes) ? end - at : sizeof(bytes);
        ssize_t taken = read(fd, bytes, count);
        if (taken <= 0)
            return at;
        for (size_t i = 0; i < (size_t)taken; i++)
            HOLDS(bytes[i] == pattern(at + i), "byte %zu is another", at + i);
        at += (size_t)taken;
    }
    return at;
}

START_TEST(a_slow_reader_costs_no_memory)
{
    struct test_run run;
    pair_open(&pair);
    int *fds = pair.at_worker.fds[run_begin(&pair, &wish, &run)];
    size_t printed = 0;
    size_t taken = 0;
    size_t most = 0;
    ck_assert_int_eq(fcntl(fds[RUN_FD_STDOUT], F_SETFL, O_NONBLOCK), 0);
    size_t before = mallinfo2().uordblks;
    for (size_t i = 0; taken < FLOOD_BYTES; i++) {
        printed = print(fds[RUN_FD_STDOUT], printed, FLOOD_BYTES);
        pair_turn(&pair, 0);
        ck_assert(pair.gateway && pair.worker);
        if (i % 4 == 0)
            taken = take(run.output, taken, 65536);
        size_t used = mallinfo2().uordblks;
        most = used > before + most ? used - before : most;
    }
    ck_assert_uint_eq(printed, FLOOD_BYTES);
    HOLDS(most < 2 << 20, "%zu bytes", most);
    close_all(fds, RUN_FD_COUNT);
    run_close(&run);
    pair_close(&pair);
}
END_TEST

START_TEST(a_run_that_nobody_reads_holds_up_no_other)
{
    const size_t total = (size_t)8 << 20;
    struct test_run blocked;
    struct test_run other;
    char word[8];
    pair_open(&pair);
    int *fds = pair.at_worker.fds[run_begin(&pair, &wish, &blocked)];
    ck_assert_int_eq(fcntl(fds[RUN_FD_STDOUT], F_SETFL, O_NONBLOCK), 0);
    size_t stuck = 0;
    for (int i = 0; i < 200; i++) {
        stuck = print(fds[RUN_FD_STDOUT], stuck, total);
        pair_turn(&pair, 0);
    }
    ck_assert_uint_lt(stuck, 1 << 20); /* the pipes and the window */
    ck_assert_int_eq(write(fds[RUN_FD_EVENTS], "event", 5), 5);
    int *others = pair.at_worker.fds[run_begin(&pair, &wish, &other)];
    ck_assert_int_eq(fcntl(others[RUN_FD_STDOUT], F_SETFL, O_NONBLOCK), 0);
    size_t printed = 0;
    size_t taken = 0;
    while (taken < total) {
        printed = print(others[RUN_FD_STDOUT], printed, total);
        pair_turn(&pair, 0);
        taken = take(other.output, taken, total);
    }
    /* An order gets through to the blocked one, and its event waits for its output. */
    ck_assert_int_eq(write(blocked.events, "c", 1), 1);
    struct pollfd entry = {.fd = fds[RUN_FD_EVENTS], .events = POLLIN};
    PAIR_UNTIL(&pair, poll(&entry, 1, 0) == 1);
    ck_assert_int_eq(read(fds[RUN_FD_EVENTS], word, sizeof(word)), 1);
    entry.fd = blocked.events;
    ck_assert_int_eq(poll(&entry, 1, 0), 0);
    taken = 0;
    while (poll(&entry, 1, 0) == 0) {
        taken = take(blocked.output, taken, 4096);
        pair_turn(&pair, 0);
    }
    ck_assert_uint_eq(take(blocked.output, taken, total), stuck);
    close_all(fds, RUN_FD_COUNT);
    close_all(others, RUN_FD_COUNT);
    run_close(&blocked);
    run_close(&other);
    pair_close(&pair);
}
END_TEST

#define STREAMS 4

static const int places[STREAMS] = {RUN_FD_STDOUT, RUN_FD_STDERR, RUN_FD_RESULTS, RUN_FD_FILES};

/* A backend: some bytes to each stream in turns, then the word on one of them. */
static pid_t start_backend(const int *fds, const size_t lengths[STREAMS], int word_fd)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    for (size_t i = 0; i < STREAMS; i++)
        (void)print(fds[places[i]], 0, lengths[i]);
    _exit(write(word_fd, "ended", 5) == 5 ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* When the word is there, so is all that was said before: without another turn. */
static void check_order(int round, int word_place, size_t waited)
{
    struct test_run run;
    size_t lengths[STREAMS] = {0};
    size_t taken[STREAMS] = {0};
    int *fds = pair.at_worker.fds[run_begin(&pair, &wish, &run)];
    const int outputs[STREAMS] = {run.output, run.errors, run.results, run.files};
    int word = word_place == RUN_FD_EVENTS ? run.events : run.results;
    for (size_t i = 0; i < waited; i++)
        lengths[i] = (size_t)((round * 7919 + (int)i * 104729) % 5) *
                     (size_t)((round * 3137 + (int)i * 1717) % 150000);
    pid_t child = start_backend(fds, lengths, fds[word_place]);
    ck_assert_int_gt(child, 0);
    close_all(fds, RUN_FD_COUNT);
    struct pollfd entry = {.fd = word, .events = POLLIN};
    while (poll(&entry, 1, 0) == 0) {
        for (size_t i = 0; i < waited; i++)
            taken[i] = take(outputs[i], taken[i], round % 3 == 0 ? 8192 : SIZE_MAX / 2);
        pair_turn(&pair, 0);
        ck_assert(pair.gateway && pair.worker);
    }
    for (size_t i = 0; i < waited; i++) {
        taken[i] = take(outputs[i], taken[i], SIZE_MAX / 2);
        HOLDS(taken[i] == lengths[i], "round %d, stream %zu: %zu of %zu bytes", round, i, taken[i],
              lengths[i]);
    }
    int status = 1;
    ck_assert(waitpid(child, &status, 0) == child && status == 0);
    run_close(&run);
    size_t ends = pair.at_worker.ends;
    PAIR_UNTIL(&pair, pair.at_worker.ends > ends || pair.at_gateway.ends == pair.at_worker.ends);
}

START_TEST(an_event_is_behind_all_that_was_printed)
{
    pair_open(&pair);
    for (int i = 0; i < 200; i++)
        check_order(i, RUN_FD_EVENTS, 3); /* files have an end of their own */
    pair_close(&pair);
}
END_TEST

START_TEST(a_result_is_behind_all_that_was_printed)
{
    pair_open(&pair);
    for (int i = 0; i < 200; i++)
        check_order(i, RUN_FD_RESULTS, 2);
    pair_close(&pair);
}
END_TEST

START_TEST(a_large_file_goes_over_whole)
{
    const size_t length = ((size_t)20 << 20) + 1;
    struct run_wish large = wish;
    struct test_run run;
    unsigned char *bytes = malloc(length);
    unsigned char *copy = malloc(length);
    ck_assert(bytes && copy);
    for (size_t i = 0; i < length; i++)
        bytes[i] = pattern(i);
    large.input = bytes;
    large.input_length = length;
    pair_open(&pair);
    int *fds = pair.at_worker.fds[run_begin(&pair, &large, &run)];
    ck_assert_int_eq(pread(fds[RUN_FD_STDIN], copy, length, 0), (ssize_t)length);
    HOLDS(memcmp(bytes, copy, length) == 0, "other bytes");
    close_all(fds, RUN_FD_COUNT);
    run_close(&run);
    pair_close(&pair);
    free(bytes);
    free(copy);
}
END_TEST

START_TEST(answers_that_nobody_takes_wait_at_the_gateway)
{
    struct test_run run;
    const size_t total = (size_t)4 << 20;
    pair_open(&pair);
    int *fds = pair.at_worker.fds[run_begin(&pair, &wish, &run)];
    ck_assert_int_eq(fcntl(run.tools, F_SETFL, O_NONBLOCK), 0);
    ck_assert_int_eq(fcntl(fds[RUN_FD_TOOLS], F_SETFL, O_NONBLOCK), 0);
    size_t said = 0;
    for (int i = 0; i < 300; i++) {
        said = print(run.tools, said, total);
        pair_turn(&pair, 0);
    }
    ck_assert_uint_lt(said, total);
    size_t taken = 0;
    while (taken < total) {
        said = print(run.tools, said, total);
        taken = take(fds[RUN_FD_TOOLS], taken, total);
        pair_turn(&pair, 0);
    }
    close_all(fds, RUN_FD_COUNT);
    run_close(&run);
    pair_close(&pair);
}
END_TEST

START_TEST(many_runs_share_a_connection)
{
    struct test_run runs[50];
    pair_open(&pair);
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        ck_assert_uint_eq(run_begin(&pair, &wish, &runs[i]), i);
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "run %zu", i);
        ck_assert_int_gt(write(pair.at_worker.fds[i][RUN_FD_STDOUT], name, strlen(name)), 0);
    }
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        char name[16];
        char text[16] = "";
        (void)snprintf(name, sizeof(name), "run %zu", i);
        PAIR_UNTIL(&pair, read(runs[i].output, text, sizeof(text) - 1) > 0);
        ck_assert_str_eq(text, name);
    }
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        close_all(pair.at_worker.fds[i], RUN_FD_COUNT);
        run_close(&runs[i]);
    }
    PAIR_UNTIL(&pair,
               pair.at_gateway.ends == COUNT_OF(runs) && pair.at_worker.ends == COUNT_OF(runs));
    pair_close(&pair);
}
END_TEST

int main(void)
{
    TCase *load = tcase_create("load");
    tcase_add_unchecked_fixture(load, pair_setup, pair_teardown);
    tcase_set_timeout(load, 120);
    tcase_add_test(load, a_slow_reader_costs_no_memory);
    tcase_add_test(load, a_run_that_nobody_reads_holds_up_no_other);
    tcase_add_test(load, an_event_is_behind_all_that_was_printed);
    tcase_add_test(load, a_result_is_behind_all_that_was_printed);
    tcase_add_test(load, a_large_file_goes_over_whole);
    tcase_add_test(load, answers_that_nobody_takes_wait_at_the_gateway);
    tcase_add_test(load, many_runs_share_a_connection);
    return run_suite("remote load", &load, 1);
}
