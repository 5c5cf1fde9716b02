/* SPDX-License-Identifier: Apache-2.0 */
/* The times of a session, and what is due when one of them is over. */
#include "backends/common/session_clock.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define NOW UINT64_C(5000000)

static struct session_clock clock_of_session;

static uint64_t begin(uint64_t idle_ms, uint64_t age_ms)
{
    const struct run_session session = {.idle_ms = idle_ms, .age_ms = age_ms};
    return session_clock_begin(&clock_of_session, &session, NOW);
}

static bool wakes; /* the order that was given last */

static uint64_t give(uint32_t kind, uint32_t wall_ms, uint64_t now_us)
{
    const struct session_order order = {.kind = kind, .wall_ms = wall_ms};
    return session_clock_order(&clock_of_session, &order, now_us, &wakes);
}

static void expect_due(enum session_due due, uint64_t now_us, uint64_t deadline_us)
{
    uint64_t deadline = 0;
    ck_assert_uint_eq(session_clock_due(&clock_of_session, now_us, &deadline), due);
    ck_assert_uint_eq(deadline, deadline_us);
}

START_TEST(idle_and_age)
{
    static const struct {
        uint64_t idle_ms, age_ms, deadline_us;
    } rows[] = {
        {1000, 0, NOW + 1000000},
        {1000, 3000, NOW + 1000000},
        {3000, 1000, NOW + 1000000},
        {700, 3000, NOW + 700000},
        {1000, UINT64_MAX, NOW + 1000000},        /* times 1000 it is beyond the clock */
        {1000, UINT64_MAX / 1000, NOW + 1000000}, /* and here from now on */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ck_assert_uint_eq(begin(rows[i].idle_ms, rows[i].age_ms), rows[i].deadline_us);
        expect_due(SESSION_DUE_EXPIRY, rows[i].deadline_us, 0);
    }
}
END_TEST

START_TEST(a_cell_begins_the_idle_time_again)
{
    (void)begin(1000, 10000);
    ck_assert_uint_eq(give(SESSION_ORDER_CELL, 500, NOW + 100), NOW + 100 + 500000);
    ck_assert_uint_eq(give(SESSION_ORDER_IDLE, 0, NOW + 200), NOW + 200 + 1000000);
    ck_assert_uint_eq(give(SESSION_ORDER_CELL, 500, NOW + 100), NOW + 100 + 500000);
    ck_assert_uint_eq(give(SESSION_ORDER_COLLECT, 0, NOW + 200), NOW + 200 + 1000000);
    expect_due(SESSION_DUE_EXPIRY, NOW + 1000200, 0);
}
END_TEST

START_TEST(a_session_that_has_come_of_age_ends_behind_its_cell)
{
    (void)begin(1000, 2000);
    ck_assert_uint_eq(give(SESSION_ORDER_CELL, 60000, NOW), NOW + 60000000);
    ck_assert_uint_eq(give(SESSION_ORDER_IDLE, 0, NOW + 1500000), NOW + 2000000);
    ck_assert_uint_eq(give(SESSION_ORDER_CELL, 60000, NOW), NOW + 60000000);
    ck_assert_uint_le(give(SESSION_ORDER_IDLE, 0, NOW + 9000000), NOW + 9000000);
    expect_due(SESSION_DUE_EXPIRY, NOW + 9000000, 0);
}
END_TEST

/* A second behind its start or its cell its processes stop; the next cell wakes them, once. */
START_TEST(it_stops_when_idle)
{
    ck_assert_uint_eq(begin(60000, 0), NOW + SESSION_AWAKE_US);
    expect_due(SESSION_DUE_STOP, NOW + SESSION_AWAKE_US, NOW + 60000000);
    (void)give(SESSION_ORDER_CELL, 500, NOW);
    ck_assert(wakes);
    (void)give(SESSION_ORDER_CELL, 500, NOW);
    ck_assert(!wakes);
    ck_assert_uint_eq(give(SESSION_ORDER_IDLE, 0, NOW), NOW + SESSION_AWAKE_US);
    (void)give(SESSION_ORDER_CELL, 500, NOW);
    ck_assert(!wakes);
    (void)give(SESSION_ORDER_IDLE, 0, NOW);
    expect_due(SESSION_DUE_STOP, NOW + SESSION_AWAKE_US, NOW + 60000000);
    expect_due(SESSION_DUE_EXPIRY, NOW + 60000000, 0);
}
END_TEST

START_TEST(the_end_of_a_cells_time)
{
    (void)begin(1000, 0);
    (void)give(SESSION_ORDER_CELL, 500, NOW);
    for (int i = 0; i < SESSION_INTERRUPTS; i++)
        expect_due(SESSION_DUE_INTERRUPT, NOW + 500000, NOW + 500000 + SESSION_GRACE_US);
    expect_due(SESSION_DUE_TIMEOUT, NOW + 3000000, 0);
}
END_TEST

START_TEST(each_cell_is_interrupted_anew)
{
    (void)begin(1000, 0);
    for (int i = 0; i < 5; i++) {
        (void)give(SESSION_ORDER_CELL, 500, NOW);
        for (int j = 0; j < SESSION_INTERRUPTS; j++)
            expect_due(SESSION_DUE_INTERRUPT, NOW, NOW + SESSION_GRACE_US);
        ck_assert_uint_eq(give(SESSION_ORDER_IDLE, 0, NOW), NOW + 1000000);
    }
}
END_TEST

/* An order to interrupt is as the end of the cell's time; a second one does not hasten it. */
START_TEST(an_order_interrupts)
{
    (void)begin(1000, 0);
    ck_assert_uint_eq(give(SESSION_ORDER_INTERRUPT, 0, NOW), 0); /* there is no cell */
    expect_due(SESSION_DUE_EXPIRY, NOW + 1000000, 0);
    (void)give(SESSION_ORDER_CELL, 60000, NOW);
    ck_assert_uint_eq(give(SESSION_ORDER_INTERRUPT, 0, NOW + 7), NOW + 7);
    expect_due(SESSION_DUE_INTERRUPT, NOW + 7, NOW + 7 + SESSION_GRACE_US);
    ck_assert_uint_eq(give(SESSION_ORDER_INTERRUPT, 0, NOW + 8), 0);
    expect_due(SESSION_DUE_INTERRUPT, NOW + 9, NOW + 9 + SESSION_GRACE_US);
    expect_due(SESSION_DUE_TIMEOUT, NOW + 10, 0);
    (void)give(SESSION_ORDER_IDLE, 0, NOW);
    ck_assert_uint_eq(give(SESSION_ORDER_INTERRUPT, 0, NOW), 0);
}
END_TEST

static void begin_cell(uint32_t wall_ms, uint32_t cpu_ms)
{
    const struct session_order order = {
        .kind = SESSION_ORDER_CELL, .wall_ms = wall_ms, .cpu_ms = cpu_ms};
    (void)begin(60000, 0);
    (void)session_clock_order(&clock_of_session, &order, NOW, &wakes);
}

#define TOTAL UINT64_C(123456) /* of the session, ahead of the cell */

static uint64_t look(uint64_t used_us, uint64_t cost_us, uint64_t processors, uint64_t now_us)
{
    const struct session_measure measure = {true, TOTAL + used_us, cost_us, processors};
    return session_clock_measured(&clock_of_session, &measure, now_us);
}

/* The second look: the first one is the begin. */
static uint64_t measured(uint64_t used_us, uint64_t cost_us, uint64_t processors, uint64_t now_us)
{
    (void)look(0, cost_us, processors, now_us);
    return look(used_us, cost_us, processors, now_us);
}

static uint64_t look_in_vain(uint64_t now_us)
{
    const struct session_measure measure = {.is_known = false, .processors = 1};
    return session_clock_measured(&clock_of_session, &measure, now_us);
}

/* No sooner than all processors together can have used what is left. */
START_TEST(when_a_cell_is_measured_next)
{
    static const struct {
        uint64_t used_us, cost_us, processors, pause_us;
    } rows[] = {
        {0, 0, 1, 900000},
        {0, 0, 4, 225000},
        {500000, 0, 4, 100000},
        {899999, 0, 4, SESSION_MEASURE_PAUSE_US},
        {899999, 5000, 4, UINT64_C(5000) * SESSION_MEASURE_SHARE},
        {0, 5000, 4, 225000},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin_cell(60000, 900);
        uint64_t deadline_us =
            measured(rows[i].used_us, rows[i].cost_us, rows[i].processors, NOW + 7);
        ck_assert_uint_eq(deadline_us, NOW + 7 + rows[i].pause_us);
        expect_due(SESSION_DUE_MEASURE, deadline_us, 0);
        ck_assert(!clock_of_session.is_cpu_spent);
    }
}
END_TEST

START_TEST(when_a_cell_is_measured_first)
{
    begin_cell(60000, 900);
    expect_due(SESSION_DUE_MEASURE, NOW + SESSION_MEASURE_PAUSE_US, 0);
    const struct session_order rows[] = {{.wall_ms = 60000, .cpu_ms = 900},
                                         {.wall_ms = 3, .cpu_ms = 900},
                                         {.wall_ms = 60000, .cpu_ms = 0}};
    const uint64_t pauses_us[] = {SESSION_MEASURE_PAUSE_US, 3000, 60000000};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct session_order order = rows[i];
        order.kind = SESSION_ORDER_CELL;
        ck_assert_uint_eq(session_clock_order(&clock_of_session, &order, NOW, &wakes),
                          NOW + pauses_us[i]);
    }
}
END_TEST

START_TEST(the_end_of_a_cells_processor_time)
{
    begin_cell(60000, 900);
    ck_assert_uint_eq(measured(900000, 0, 4, NOW + 9), NOW + 9);
    ck_assert(clock_of_session.is_cpu_spent);
    for (int i = 0; i < SESSION_INTERRUPTS; i++)
        expect_due(SESSION_DUE_INTERRUPT, NOW + 9, NOW + 9 + SESSION_GRACE_US);
    expect_due(SESSION_DUE_TIMEOUT, NOW + 3000000, 0);
    (void)give(SESSION_ORDER_CELL, 500, NOW);
    ck_assert(!clock_of_session.is_cpu_spent);
}
END_TEST

/* What was used ahead of its first look, or by an earlier cell, is not the cell's. */
START_TEST(what_counts_as_a_cells_processor_time)
{
    begin_cell(60000, 900);
    ck_assert_uint_eq(look(5000000, 0, 1, NOW), NOW + 900000);
    ck_assert_uint_eq(look(5500000, 0, 1, NOW), NOW + 400000);
    ck_assert_uint_eq(look(5400000, 0, 1, NOW), NOW + 400000); /* less than before: as before */
    begin_cell(60000, 900);
    ck_assert_uint_eq(look(5900000, 0, 1, NOW), NOW + 900000);
    ck_assert_int_eq(session_clock_cause(&clock_of_session), RUN_CAUSE_WALL_TIMEOUT);
    ck_assert_uint_eq(look(6800000, 0, 1, NOW + 1), NOW + 1);
    ck_assert_int_eq(session_clock_cause(&clock_of_session), RUN_CAUSE_CPU_LIMIT);
}
END_TEST

START_TEST(a_look_that_tells_nothing)
{
    begin_cell(60000, 900);
    (void)look(0, 0, 1, NOW);
    (void)look(500000, 0, 1, NOW);
    ck_assert_uint_eq(look_in_vain(NOW + 5), NOW + 5 + 400000);
    begin_cell(60000, 900);
    ck_assert_uint_eq(look_in_vain(NOW + 5), NOW + 60000000);
    expect_due(SESSION_DUE_INTERRUPT, NOW + 60000000, NOW + 60000000 + SESSION_GRACE_US);
    ck_assert_int_eq(session_clock_cause(&clock_of_session), RUN_CAUSE_WALL_TIMEOUT);
}
END_TEST

/* Whatever comes first: the end of its wall time, or an order. Nothing is measured behind it. */
START_TEST(a_measured_cell_ends_for_other_reasons)
{
    begin_cell(100, 900);
    ck_assert_uint_eq(measured(0, 0, 1, NOW), NOW + 100000);
    expect_due(SESSION_DUE_INTERRUPT, NOW + 100000, NOW + 100000 + SESSION_GRACE_US);
    ck_assert(!clock_of_session.is_cpu_spent);
    begin_cell(60000, 900);
    ck_assert_uint_eq(measured(0, 0, 1, NOW), NOW + 900000);
    ck_assert_uint_eq(give(SESSION_ORDER_INTERRUPT, 0, NOW + 3), NOW + 3);
    expect_due(SESSION_DUE_INTERRUPT, NOW + 3, NOW + 3 + SESSION_GRACE_US);
    expect_due(SESSION_DUE_INTERRUPT, NOW + 4, NOW + 4 + SESSION_GRACE_US);
    ck_assert(!clock_of_session.is_cpu_spent);
}
END_TEST

/* What a cell waits for tools is added to its time, as long as it has some. */
START_TEST(a_cell_whose_time_does_not_count)
{
    begin_cell(100, 0);
    ck_assert_uint_eq(session_clock_extend(&clock_of_session, 5000, NOW + 90000), NOW + 105000);
    ck_assert_uint_eq(session_clock_extend(&clock_of_session, 0, NOW + 90000), NOW + 105000);
    expect_due(SESSION_DUE_INTERRUPT, NOW + 105000, NOW + 105000 + SESSION_GRACE_US);
    ck_assert_uint_eq(session_clock_extend(&clock_of_session, 5000, NOW + 105001), 0);
    begin_cell(100, 900);
    ck_assert_uint_eq(session_clock_extend(&clock_of_session, 5000, NOW + 90000),
                      NOW + 90000 + SESSION_MEASURE_PAUSE_US);
    (void)measured(900000, 0, 1, NOW + 95000);
    ck_assert_uint_eq(session_clock_extend(&clock_of_session, 5000, NOW + 95000), 0);
    begin_cell(100, 0);
    ck_assert_uint_eq(session_clock_extend(&clock_of_session, UINT64_MAX, NOW), UINT64_MAX);
    (void)give(SESSION_ORDER_IDLE, 0, NOW);
    ck_assert_uint_eq(session_clock_extend(&clock_of_session, 5000, NOW), 0);
}
END_TEST

START_TEST(an_unknown_order_has_no_effect)
{
    (void)begin(1000, 0);
    (void)give(SESSION_ORDER_CELL, 500, NOW);
    for (uint32_t kind = SESSION_ORDER_COLLECT + 1; kind < 300; kind++)
        ck_assert_uint_eq(give(kind, 1, NOW), 0);
    ck_assert_uint_eq(give(0, 1, NOW), 0);
    expect_due(SESSION_DUE_INTERRUPT, NOW, NOW + SESSION_GRACE_US);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("session clock");
    tcase_add_test(cases, idle_and_age);
    tcase_add_test(cases, a_cell_begins_the_idle_time_again);
    tcase_add_test(cases, a_session_that_has_come_of_age_ends_behind_its_cell);
    tcase_add_test(cases, it_stops_when_idle);
    tcase_add_test(cases, the_end_of_a_cells_time);
    tcase_add_test(cases, each_cell_is_interrupted_anew);
    tcase_add_test(cases, an_order_interrupts);
    tcase_add_test(cases, when_a_cell_is_measured_first);
    tcase_add_test(cases, when_a_cell_is_measured_next);
    tcase_add_test(cases, the_end_of_a_cells_processor_time);
    tcase_add_test(cases, what_counts_as_a_cells_processor_time);
    tcase_add_test(cases, a_look_that_tells_nothing);
    tcase_add_test(cases, a_measured_cell_ends_for_other_reasons);
    tcase_add_test(cases, a_cell_whose_time_does_not_count);
    tcase_add_test(cases, an_unknown_order_has_no_effect);
    return run_suite("session clock", &cases, 1);
}
