/* SPDX-License-Identifier: Apache-2.0 */
/* What the loops around a run and a cell have in common of serving calls of tools. */
#include "run/run_calls.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/deadline.h"
#include "protocol/run_event.h"
#include "tap_suite.h"

#define DUE_MS     UINT64_C(1) /* long past */
#define ANSWERS    5           /* no function here uses it as a descriptor */
#define WAKE       6
#define IN_AN_HOUR (monotonic_ms() + 3600000)

static bool has_output, waits, lets_go_on;
static int served, stopped; /* with which descriptor; how often */
static int backend[2];

static bool tell_output(void *user)
{
    (void)user;
    return has_output;
}

static uint64_t tell_due(void *user)
{
    (void)user;
    return DUE_MS;
}

static bool tell_waiting(void *user)
{
    (void)user;
    return waits;
}

static bool serve(void *user, int answers)
{
    (void)user;
    served = answers;
    return lets_go_on;
}

static void stop(void *user)
{
    (void)user;
    stopped++;
}

static const struct run_calls calls = {
    .wake_fd = WAKE,
    .has_output = tell_output,
    .due_ms = tell_due,
    .is_waiting = tell_waiting,
    .serve = serve,
    .stop = stop,
};

static void begin(void)
{
    has_output = waits = false;
    lets_go_on = true;
    served = stopped = 0;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, backend), 0);
}

static void end(void)
{
    close(backend[0]);
    close(backend[1]);
}

/* The next order that the backend has got; 0: none. */
static int next_order(void)
{
    unsigned char order = 0;
    return recv(backend[1], &order, sizeof(order), MSG_DONTWAIT) == 1 ? order : 0;
}

#define WAIT_LIMIT_MS 500

/* Tells it, which moves the deadline by so much. */
static void expect_moved(struct call_service *service, uint64_t by_ms)
{
    uint64_t deadline_ms = 1000;
    call_service_tell_waiting(service, backend[0], WAIT_LIMIT_MS, &deadline_ms);
    ck_assert_uint_eq(deadline_ms, 1000 + by_ms);
}

START_TEST(a_program_without_tools)
{
    struct call_service service = {.calls = NULL};
    ck_assert_int_eq(call_service_wake_fd(&service), -1);
    ck_assert_int_eq(call_service_writable_fd(&service, ANSWERS), -1);
    ck_assert_uint_eq(call_service_due_ms(&service), UINT64_MAX);
    ck_assert(call_service_serve(&service, ANSWERS));
    expect_moved(&service, 0);
    call_service_stop(&service);
    ck_assert_int_eq(next_order(), 0);
}
END_TEST

START_TEST(calls_are_served)
{
    struct call_service service = {.calls = &calls};
    ck_assert_int_eq(call_service_wake_fd(&service), WAKE);
    ck_assert_int_eq(call_service_writable_fd(&service, ANSWERS), -1);
    has_output = true;
    ck_assert_int_eq(call_service_writable_fd(&service, ANSWERS), ANSWERS);
    ck_assert_int_eq(call_service_writable_fd(&service, -1), -1);
    ck_assert_uint_eq(call_service_due_ms(&service), DUE_MS);
    ck_assert(call_service_serve(&service, ANSWERS));
    ck_assert_int_eq(served, ANSWERS);
    lets_go_on = false;
    ck_assert(!call_service_serve(&service, ANSWERS));
    call_service_stop(&service);
    ck_assert_int_eq(stopped, 1);
}
END_TEST

START_TEST(answers_are_held_back)
{
    struct call_service service = {.calls = &calls, .held_ms = IN_AN_HOUR};
    has_output = true;
    ck_assert_int_eq(call_service_writable_fd(&service, ANSWERS), -1);
    ck_assert(call_service_serve(&service, ANSWERS));
    ck_assert_int_eq(served, -1);
    ck_assert_uint_eq(call_service_due_ms(&service), DUE_MS);
    service.held_ms = monotonic_ms();
    ck_assert_int_eq(call_service_writable_fd(&service, ANSWERS), ANSWERS);
    ck_assert(call_service_serve(&service, ANSWERS));
    ck_assert_int_eq(served, ANSWERS);
}
END_TEST

static uint64_t tell_never(void *user)
{
    (void)user;
    return UINT64_MAX;
}

START_TEST(the_end_of_that_is_a_reason_to_wake)
{
    struct run_calls nothing_due = calls;
    struct call_service service = {.calls = &nothing_due, .held_ms = IN_AN_HOUR};
    nothing_due.due_ms = tell_never;
    ck_assert_uint_eq(call_service_due_ms(&service), service.held_ms);
    service.held_ms = 0;
    ck_assert_uint_eq(call_service_due_ms(&service), UINT64_MAX);
}
END_TEST

START_TEST(each_change_is_told_and_the_first_wait_moves_the_deadline)
{
    struct call_service service = {.calls = &calls};
    expect_moved(&service, 0);
    ck_assert_int_eq(next_order(), 0);
    waits = true;
    expect_moved(&service, WAIT_LIMIT_MS);
    ck_assert_int_eq(next_order(), RUN_ORDER_WAITS);
    expect_moved(&service, 0);
    ck_assert_int_eq(next_order(), 0);
    waits = false;
    expect_moved(&service, 0);
    ck_assert_int_eq(next_order(), RUN_ORDER_GOES_ON);
    waits = true;
    expect_moved(&service, 0);
    ck_assert_int_eq(next_order(), RUN_ORDER_WAITS);
}
END_TEST

START_TEST(no_deadline_is_not_moved)
{
    struct call_service service = {.calls = &calls};
    uint64_t deadline_ms = UINT64_MAX;
    waits = true;
    call_service_tell_waiting(&service, backend[0], WAIT_LIMIT_MS, &deadline_ms);
    ck_assert_uint_eq(deadline_ms, UINT64_MAX);
    ck_assert_int_eq(next_order(), RUN_ORDER_WAITS);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("run calls");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, a_program_without_tools);
    tcase_add_test(cases, calls_are_served);
    tcase_add_test(cases, answers_are_held_back);
    tcase_add_test(cases, the_end_of_that_is_a_reason_to_wake);
    tcase_add_test(cases, each_change_is_told_and_the_first_wait_moves_the_deadline);
    tcase_add_test(cases, no_deadline_is_not_moved);
    return run_suite("run calls", &cases, 1);
}
