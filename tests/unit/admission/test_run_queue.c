/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_queue: order inside a line, turns between lines, bounds, who is displaced, and removal at any
 * place; then many random steps against a model that does the same with plain arrays.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../support/random.h"
#include "admission/run_queue.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define SOME 8

static struct run_queue queue;
static struct run_queue_entry entries[SOME];

static enum run_queue_verdict enter(int number, const char *principal, uint64_t max_runs,
                                    uint64_t max_queued, int *ret_displaced)
{
    struct run_queue_entry *displaced = NULL;
    entries[number] = (struct run_queue_entry){.principal = principal, .max_runs = max_runs};
    enum run_queue_verdict verdict =
        run_queue_enter(&queue, &entries[number], max_queued, &displaced);
    *ret_displaced = displaced != NULL ? (int)(displaced - entries) : -1;
    return verdict;
}

static void expect_enter(int number, const char *principal, enum run_queue_verdict wanted)
{
    int displaced;
    ck_assert_int_eq(enter(number, principal, 1, SOME, &displaced), wanted);
    ck_assert_int_eq(displaced, -1);
}

/* One run ends, and the next begins: its number, -1 for none. */
static int end_one(void)
{
    static const struct run_queue_entry any;
    run_queue_leave(&queue, &any);
    struct run_queue_entry *next = run_queue_next(&queue);
    ck_assert_ptr_null(run_queue_next(&queue));
    return next != NULL ? (int)(next - entries) : -1;
}

static void expect_turns(const int *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(end_one(), numbers[i]);
    ck_assert_int_eq(end_one(), -1);
    ck_assert_uint_eq(queue.running, 0);
    ck_assert_uint_eq(queue.queued, 0);
}

START_TEST(the_first_call_of_a_line_goes_first)
{
    static const int turns[] = {1, 2, 3};
    expect_enter(0, "a", RUN_QUEUE_RUNS);
    for (int i = 1; i < 4; i++)
        expect_enter(i, "a", RUN_QUEUE_WAITS);
    ck_assert_ptr_null(run_queue_next(&queue));
    expect_turns(turns, COUNT_OF(turns));
}
END_TEST

START_TEST(principals_take_turns)
{
    static const int turns[] = {1, 4, 6, 2, 5, 3};
    expect_enter(0, "a", RUN_QUEUE_RUNS);
    expect_enter(1, "a", RUN_QUEUE_WAITS);
    expect_enter(2, "a", RUN_QUEUE_WAITS);
    expect_enter(3, "a", RUN_QUEUE_WAITS);
    expect_enter(4, "b", RUN_QUEUE_WAITS);
    expect_enter(5, "b", RUN_QUEUE_WAITS);
    expect_enter(6, NULL, RUN_QUEUE_WAITS);
    expect_turns(turns, COUNT_OF(turns));
}
END_TEST

START_TEST(calls_without_a_principal_are_one_line)
{
    static const int turns[] = {1, 3, 2};
    expect_enter(0, NULL, RUN_QUEUE_RUNS);
    expect_enter(1, NULL, RUN_QUEUE_WAITS);
    expect_enter(2, NULL, RUN_QUEUE_WAITS);
    expect_enter(3, "", RUN_QUEUE_WAITS);
    expect_turns(turns, COUNT_OF(turns));
}
END_TEST

START_TEST(principals_are_compared_by_name)
{
    static const int turns[] = {1, 2};
    char one[] = "same";
    char other[] = "same";
    expect_enter(0, one, RUN_QUEUE_RUNS);
    expect_enter(1, one, RUN_QUEUE_WAITS);
    expect_enter(2, other, RUN_QUEUE_WAITS);
    ck_assert_uint_eq(queue.lines->length, 2);
    expect_turns(turns, COUNT_OF(turns));
}
END_TEST

START_TEST(a_place_for_each_that_may_run)
{
    int displaced;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(enter(i, "a", 3, 1, &displaced), RUN_QUEUE_RUNS);
    ck_assert_int_eq(enter(3, "a", 3, 1, &displaced), RUN_QUEUE_WAITS);
    ck_assert_int_eq(enter(4, "a", 3, 1, &displaced), RUN_QUEUE_FULL);
    ck_assert_int_eq(displaced, -1);
    ck_assert_uint_eq(queue.running, 3);
    ck_assert_uint_eq(queue.queued, 1);
}
END_TEST

/* Three places, and memory for two of the usual runs. A small run that would fit does not overtake
 * the large one before it, and the large one gets its share when one of the usual ones has ended.
 */
START_TEST(memory_is_waited_for_like_a_place)
{
    static const uint64_t shares[] = {4, 4, 4, 1};
    static const enum run_queue_verdict verdicts[] = {RUN_QUEUE_RUNS, RUN_QUEUE_RUNS,
                                                      RUN_QUEUE_WAITS, RUN_QUEUE_WAITS};
    struct run_queue_entry *displaced = NULL;
    for (size_t i = 0; i < COUNT_OF(shares); i++) {
        entries[i] = (struct run_queue_entry){
            .max_runs = 3, .memory_bytes = shares[i], .memory_total_bytes = 9};
        ck_assert_int_eq(run_queue_enter(&queue, &entries[i], SOME, &displaced), verdicts[i]);
        ck_assert_ptr_null(run_queue_next(&queue));
    }
    ck_assert_uint_eq(queue.memory_bytes, 8);
    run_queue_leave(&queue, &entries[0]);
    ck_assert_ptr_eq(run_queue_next(&queue), &entries[2]);
    ck_assert_ptr_eq(run_queue_next(&queue), &entries[3]);
    ck_assert_uint_eq(queue.memory_bytes, 9);
    for (size_t i = 1; i < COUNT_OF(shares); i++)
        run_queue_leave(&queue, &entries[i]);
    ck_assert_uint_eq(queue.memory_bytes, 0);
}
END_TEST

START_TEST(a_new_call_does_not_overtake_a_waiting_one)
{
    int displaced;
    expect_enter(0, "a", RUN_QUEUE_RUNS);
    expect_enter(1, "a", RUN_QUEUE_WAITS);
    /* There would be room under this one's policy. */
    ck_assert_int_eq(enter(2, "a", 2, SOME, &displaced), RUN_QUEUE_WAITS);
    ck_assert_ptr_null(run_queue_next(&queue));
    run_queue_remove(&queue, &entries[1]);
    ck_assert_ptr_eq(run_queue_next(&queue), &entries[2]);
    ck_assert_uint_eq(queue.running, 2);
}
END_TEST

START_TEST(a_full_queue_lets_the_fewer_in)
{
    static const int turns[] = {1, 4, 2};
    int displaced;
    (void)enter(0, "a", 1, 3, &displaced);
    for (int i = 1; i < 4; i++)
        ck_assert_int_eq(enter(i, "a", 1, 3, &displaced), RUN_QUEUE_WAITS);
    ck_assert_int_eq(enter(4, "b", 1, 3, &displaced), RUN_QUEUE_WAITS);
    ck_assert_int_eq(displaced, 3);
    /* 2 and 1: another one would only turn it around. */
    ck_assert_int_eq(enter(5, "b", 1, 3, &displaced), RUN_QUEUE_FULL);
    ck_assert_int_eq(enter(5, "a", 1, 3, &displaced), RUN_QUEUE_FULL);
    ck_assert_uint_eq(queue.queued, 3);
    expect_turns(turns, COUNT_OF(turns));
}
END_TEST

START_TEST(without_a_queue_nobody_waits)
{
    int displaced;
    ck_assert_int_eq(enter(0, "a", 1, 0, &displaced), RUN_QUEUE_RUNS);
    ck_assert_int_eq(enter(1, "b", 1, 0, &displaced), RUN_QUEUE_FULL);
    ck_assert_int_eq(end_one(), -1);
    ck_assert_int_eq(enter(1, "b", 1, 0, &displaced), RUN_QUEUE_RUNS);
}
END_TEST

/* The first, one in the middle and the last of a line; and the only one. */
START_TEST(removing_a_call_keeps_the_order_of_the_others)
{
    static const int of_a[] = {1, 2, 3};
    static const int turns[][3] = {{2, 4, 3}, {1, 4, 3}, {1, 4, 2}, {1, 2, 3}};
    expect_enter(0, "a", RUN_QUEUE_RUNS);
    for (size_t i = 0; i < COUNT_OF(of_a); i++)
        expect_enter(of_a[i], "a", RUN_QUEUE_WAITS);
    expect_enter(4, "b", RUN_QUEUE_WAITS);
    run_queue_remove(&queue, &entries[_i + 1]);
    ck_assert_uint_eq(queue.queued, 3);
    expect_turns(turns[_i], 3);
}
END_TEST

START_TEST(behind_the_last_that_went)
{
    static const int turns[] = {1, 3};
    expect_enter(0, "a", RUN_QUEUE_RUNS);
    expect_enter(1, "a", RUN_QUEUE_WAITS);
    expect_enter(2, "a", RUN_QUEUE_WAITS);
    run_queue_remove(&queue, &entries[2]);
    expect_enter(3, "a", RUN_QUEUE_WAITS);
    expect_turns(turns, COUNT_OF(turns));
}
END_TEST

/* --- The model: a list of lines in the order of their turns, each a list of calls --- */

#define CALLS      64
#define PRINCIPALS 5
#define STEPS      20000

static const char *const principals[PRINCIPALS] = {NULL, "", "a", "b", "a longer name"};

struct model_line {
    size_t principal;
    size_t calls[CALLS];
    size_t count;
};

static struct {
    struct model_line lines[PRINCIPALS];
    size_t line_count;
    size_t queued;
    size_t running;
    uint64_t memory_bytes;
} model;

static struct run_queue_entry calls[CALLS];
static size_t principal_of[CALLS];
static enum { AWAY, WAITING, RUNNING } state_of[CALLS];

static struct model_line *model_line_of(size_t principal)
{
    for (size_t i = 0; i < model.line_count; i++)
        if (model.lines[i].principal == principal)
            return &model.lines[i];
    return NULL;
}

static void model_drop_line(size_t index)
{
    model.line_count--;
    memmove(&model.lines[index], &model.lines[index + 1],
            (model.line_count - index) * sizeof(model.lines[0]));
}

static void model_remove(size_t call)
{
    struct model_line *line = model_line_of(principal_of[call]);
    size_t at = 0;
    ck_assert_ptr_nonnull(line);
    while (line->calls[at] != call)
        at++;
    line->count--;
    memmove(&line->calls[at], &line->calls[at + 1], (line->count - at) * sizeof(line->calls[0]));
    if (line->count == 0)
        model_drop_line((size_t)(line - model.lines));
    model.queued--;
}

static void model_append(size_t call)
{
    struct model_line *line = model_line_of(principal_of[call]);
    if (line == NULL) {
        line = &model.lines[model.line_count++];
        *line = (struct model_line){.principal = principal_of[call]};
    }
    line->calls[line->count++] = call;
    model.queued++;
}

/* CALLS: nobody. */
static size_t model_displaced(size_t principal)
{
    const struct model_line *own = model_line_of(principal);
    const struct model_line *longest = NULL;
    for (size_t i = 0; i < model.line_count; i++)
        if (longest == NULL || model.lines[i].count > longest->count)
            longest = &model.lines[i];
    if (longest == NULL || longest->count <= (own != NULL ? own->count : 0) + 1)
        return CALLS;
    return longest->calls[longest->count - 1];
}

static bool model_has_room(size_t call)
{
    uint64_t total = calls[call].memory_total_bytes;
    return model.running < calls[call].max_runs &&
           (total == 0 || model.memory_bytes + calls[call].memory_bytes <= total);
}

static void model_start(size_t call)
{
    model.running++;
    model.memory_bytes += calls[call].memory_bytes;
}

static size_t model_next(void)
{
    if (model.line_count == 0 || !model_has_room(model.lines[0].calls[0]))
        return CALLS;
    size_t call = model.lines[0].calls[0];
    struct model_line rest = model.lines[0];
    model_drop_line(0);
    if (rest.count > 1) {
        rest.count--;
        memmove(&rest.calls[0], &rest.calls[1], rest.count * sizeof(rest.calls[0]));
        model.lines[model.line_count++] = rest;
    }
    model.queued--;
    model_start(call);
    return call;
}

static void hand_out(void)
{
    for (;;) {
        struct run_queue_entry *next = run_queue_next(&queue);
        size_t wanted = model_next();
        ck_assert_uint_eq(next != NULL ? (size_t)(next - calls) : CALLS, wanted);
        if (next == NULL)
            return;
        state_of[wanted] = RUNNING;
    }
}

static void step_enter(uint64_t *random, size_t call)
{
    uint64_t max_queued = random_below(random, 12);
    size_t principal = random_below(random, PRINCIPALS);
    struct run_queue_entry *displaced = NULL;
    principal_of[call] = principal;
    calls[call] = (struct run_queue_entry){.principal = principals[principal],
                                           .max_runs = 1 + random_below(random, 4),
                                           .memory_bytes = random_below(random, 4),
                                           .memory_total_bytes = random_below(random, 8)};
    if (calls[call].memory_total_bytes < calls[call].memory_bytes)
        calls[call].memory_total_bytes = 0;
    bool runs = model.queued == 0 && model_has_room(call);
    size_t wanted = !runs && model.queued >= max_queued ? model_displaced(principal) : CALLS;
    bool full = !runs && model.queued >= max_queued && wanted == CALLS;
    enum run_queue_verdict verdict = run_queue_enter(&queue, &calls[call], max_queued, &displaced);
    ck_assert_int_eq(verdict, runs ? RUN_QUEUE_RUNS : full ? RUN_QUEUE_FULL : RUN_QUEUE_WAITS);
    ck_assert_uint_eq(displaced != NULL ? (size_t)(displaced - calls) : CALLS, wanted);
    if (wanted != CALLS) {
        model_remove(wanted);
        state_of[wanted] = AWAY;
    }
    if (runs)
        model_start(call);
    else if (!full)
        model_append(call);
    state_of[call] = runs ? RUNNING : full ? AWAY : WAITING;
}

static size_t visited;

static void count_visit(struct run_queue_entry *entry)
{
    ck_assert_int_eq(state_of[entry - calls], WAITING);
    visited++;
}

START_TEST(as_the_model)
{
    uint64_t random = 0x9E3779B97F4A7C15;
    size_t most_queued = 0;
    for (int i = 0; i < STEPS; i++) {
        size_t call = random_below(&random, CALLS);
        if (state_of[call] == AWAY) {
            step_enter(&random, call);
        } else if (state_of[call] == WAITING && random_below(&random, 4) == 0) {
            run_queue_remove(&queue, &calls[call]);
            model_remove(call);
            state_of[call] = AWAY;
        } else if (state_of[call] == RUNNING) {
            run_queue_leave(&queue, &calls[call]);
            model.running--;
            model.memory_bytes -= calls[call].memory_bytes;
            state_of[call] = AWAY;
        }
        hand_out();
        ck_assert_uint_eq(queue.running, model.running);
        ck_assert_uint_eq(queue.memory_bytes, model.memory_bytes);
        ck_assert_uint_eq(queue.queued, model.queued);
        visited = 0;
        run_queue_visit(&queue, count_visit);
        ck_assert_uint_eq(visited, model.queued);
        most_queued = model.queued > most_queued ? model.queued : most_queued;
    }
    ck_assert_uint_ge(most_queued, 11); /* it was full */
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("run queue"), tcase_create("model")};
    tcase_add_test(cases[0], the_first_call_of_a_line_goes_first);
    tcase_add_test(cases[0], principals_take_turns);
    tcase_add_test(cases[0], calls_without_a_principal_are_one_line);
    tcase_add_test(cases[0], principals_are_compared_by_name);
    tcase_add_test(cases[0], a_place_for_each_that_may_run);
    tcase_add_test(cases[0], memory_is_waited_for_like_a_place);
    tcase_add_test(cases[0], a_new_call_does_not_overtake_a_waiting_one);
    tcase_add_test(cases[0], a_full_queue_lets_the_fewer_in);
    tcase_add_test(cases[0], without_a_queue_nobody_waits);
    tcase_add_loop_test(cases[0], removing_a_call_keeps_the_order_of_the_others, 0, 4);
    tcase_add_test(cases[0], behind_the_last_that_went);
    tcase_set_timeout(cases[1], 60);
    tcase_add_test(cases[1], as_the_model);
    return run_suite("run_queue", cases, COUNT_OF(cases));
}
