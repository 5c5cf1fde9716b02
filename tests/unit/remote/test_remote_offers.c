/* SPDX-License-Identifier: Apache-2.0 */
/* Runs as a whole: offered, refused, withdrawn, ended by their connection. One thread. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "pair.h"
#include "tap_suite.h"

static struct pair pair;

static const struct run_wish plain = {.description = "what to run", .description_length = 11};

static int *at_worker(size_t place)
{
    return pair.at_worker.fds[place];
}

static int file_of(const char *text)
{
    char path[] = "/tmp/remote-relay-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    return fd;
}

static bool refuse(unsigned char **bytes, size_t *length)
{
    (void)bytes, (void)length;
    return false;
}

START_TEST(the_worker_may_refuse_a_description)
{
    struct test_run run;
    int fds[RUN_FD_COUNT];
    pair_open(&pair);
    pair.describe = refuse;
    run.channel = pair_accept(&pair);
    run_make(&plain, &run, fds);
    ck_assert(link_send_run(pair.gateway, run.channel, fds));
    ends(&pair, run.events);
    ends(&pair, run.output);
    PAIR_UNTIL(&pair, pair.at_gateway.ends == 1 && pair.at_worker.ends == 1);
    ck_assert_uint_eq(pair.at_worker.arrivals, 0);
    ck_assert(pair.gateway && pair.worker);
    run_close(&run);
    /* The connection goes on. */
    pair.describe = NULL;
    int *others = at_worker(run_begin(&pair, &plain, &run));
    close_all(others, RUN_FD_COUNT);
    run_close(&run);
    pair_close(&pair);
}
END_TEST

START_TEST(offers_are_refused_and_withdrawn)
{
    const struct remote_offer offer = {.wall_ms = 1};
    const struct remote_answer busy = {
        .verdict = REMOTE_BUSY, .retry_after_ms = 5, .reason = "full\n", .remedy = "wait"};
    pair_open(&pair);
    PAIR_UNTIL(&pair, pair.at_gateway.ready && pair.at_worker.ready);
    uint32_t first = link_offer(pair.gateway, &offer);
    PAIR_UNTIL(&pair, pair.at_worker.offers == 1);
    link_answer(pair.worker, first, &busy);
    link_answer(pair.worker, first, &busy);
    PAIR_UNTIL(&pair, pair.at_gateway.answers == 1);
    ck_assert_uint_eq(pair.at_gateway.verdict, REMOTE_BUSY);
    ck_assert_uint_eq(pair.at_gateway.ends, 0);
    uint32_t second = link_offer(pair.gateway, &offer);
    link_withdraw(pair.gateway, second);
    PAIR_UNTIL(&pair, pair.at_worker.ends == 1);
    ck_assert_uint_eq(pair.at_worker.ended[0], second);
    link_answer(pair.worker, second, &busy);
    /* Answered and withdrawn at one time. */
    uint32_t third = link_offer(pair.gateway, &offer);
    PAIR_UNTIL(&pair, pair.at_worker.offers >= 2 &&
                          pair.at_worker.offered[pair.at_worker.offers - 1] == third);
    link_answer(pair.worker, third, &busy);
    link_withdraw(pair.gateway, third);
    uint32_t fourth = pair_accept(&pair);
    link_withdraw(pair.gateway, fourth);
    PAIR_UNTIL(&pair, pair.at_gateway.ends >= 1 && pair.at_worker.ends >= 2);
    ck_assert(pair.gateway && pair.worker);
    int fds[RUN_FD_COUNT];
    struct test_run run;
    run_make(&plain, &run, fds);
    ck_assert(!link_send_run(pair.gateway, fourth, fds));
    run_close(&run);
    pair_close(&pair);
}
END_TEST

START_TEST(a_run_that_meets_its_end_on_the_way)
{
    const struct run_wish wish = {.description = "what to run",
                                  .description_length = 11,
                                  .input = "input",
                                  .input_length = 5,
                                  .tools = true,
                                  .inputs = true,
                                  .endpoints = true};
    struct test_run run;
    int fds[RUN_FD_COUNT];
    pair_open(&pair);
    for (size_t i = 1; i <= 3; i++) {
        const char order = CONTROL_RUN;
        uint32_t channel = pair_accept(&pair);
        run_make(&wish, &run, fds);
        int file = file_of("file");
        ck_assert_int_eq(channel_send(run.inputs, &order, 1, &file, 1), 0);
        close_fd(file);
        link_withdraw(pair.worker, channel); /* before the worker hears of the run */
        ck_assert(link_send_run(pair.gateway, channel, fds));
        ends(&pair, run.events);
        ends(&pair, run.output);
        ck_assert(send(run.tools, "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE);
        run_close(&run);
        PAIR_UNTIL(&pair, pair.at_gateway.ends == i && pair.at_worker.ends == i);
        ck_assert_uint_eq(pair.at_worker.arrivals, 0);
        ck_assert(pair.gateway && pair.worker);
    }
    int *given = at_worker(run_begin(&pair, &plain, &run));
    close_all(given, RUN_FD_COUNT);
    run_close(&run);
    pair_close(&pair);
}
END_TEST

START_TEST(capacity_and_drain_are_told)
{
    const struct remote_offer offer = {.wall_ms = 1};
    pair_open(&pair);
    PAIR_UNTIL(&pair, pair.at_gateway.ready && pair.at_worker.ready);
    for (uint32_t i = 1; i <= 20; i++)
        link_send_capacity(pair.worker, &(struct remote_capacity){.runs = i, .slots = 20});
    PAIR_UNTIL(&pair, pair.at_gateway.capacity.runs == 20);
    ck_assert_uint_le(pair.at_gateway.capacities, 2);
    link_send_drain(pair.worker);
    PAIR_UNTIL(&pair, pair.at_gateway.draining);
    ck_assert_uint_eq(link_offer(pair.gateway, &offer), 0);
    pair_close(&pair);
}
END_TEST

START_TEST(a_reason_goes_with_the_end)
{
    struct test_run run;
    pair_open(&pair);
    int *fds = at_worker(run_begin(&pair, &plain, &run));
    link_close(pair.worker, "the worker has had enough");
    PAIR_UNTIL(&pair, !pair.worker && !pair.gateway);
    ck_assert_str_eq(pair.gateway_error.message,
                     "the worker has ended the connection: the worker has had enough");
    ck_assert_int_eq(pair.gateway_error.code, ERROR_BACKEND_FAILED);
    ends(&pair, run.events);
    ends(&pair, fds[RUN_FD_EVENTS]);
    close_all(fds, RUN_FD_COUNT);
    run_close(&run);
    pair_close(&pair);
}
END_TEST

int main(void)
{
    TCase *offers = tcase_create("offers");
    tcase_add_unchecked_fixture(offers, pair_setup, pair_teardown);
    tcase_add_test(offers, the_worker_may_refuse_a_description);
    tcase_add_test(offers, offers_are_refused_and_withdrawn);
    tcase_add_test(offers, a_run_that_meets_its_end_on_the_way);
    tcase_add_test(offers, capacity_and_drain_are_told);
    tcase_add_test(offers, a_reason_goes_with_the_end);
    return run_suite("remote offers", &offers, 1);
}
