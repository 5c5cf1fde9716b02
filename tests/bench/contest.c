/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measuring loop. In every round each contestant has one turn, and another one begins each
 * round. Runs in the bench's gateway: turns of one caller on the main thread, of more on threads of
 * their own, which a barrier starts together.
 */
#include "contest.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attempt.h"
#include "provider.h"

#define CONTESTANT_LIMIT 8
#define CALLER_LIMIT     256
#define ARGUMENT_LIMIT   128

struct contestant {
    const char *name;
    char *request;                  /* JSON, or NULL: */
    char *argv[ARGUMENT_LIMIT + 1]; /* borrowed from the order */
    json_t *runs_ms;
    json_t *turns_ms;
    json_int_t failures;
};

struct contest {
    struct contestant contestants[CONTESTANT_LIMIT];
    size_t count;
    size_t callers;
    size_t each;
    size_t attempts;
    const char *expect; /* or NULL */
    uint64_t expect_bytes;
    char reason[ATTEMPT_REASON_LIMIT + 32];
};

/* One caller's part of a turn. */
struct part {
    const struct contest *contest;
    const struct contestant *contestant;
    pthread_barrier_t *barrier; /* NULL: alone */
    double *times;              /* of the runs that were good */
    size_t good;
    size_t failures;
    double begin_ms;
    double end_ms;
    struct attempt attempt;
    char reason[ATTEMPT_REASON_LIMIT]; /* of the last failure */
};

static void check_output(const struct contest *contest, struct attempt *attempt)
{
    bool same = contest->expect != NULL
                    ? attempt->total == strlen(contest->expect) &&
                          attempt->kept == attempt->total &&
                          memcmp(attempt->output, contest->expect, attempt->kept) == 0
                    : attempt->total == contest->expect_bytes;
    if (!attempt->good || same)
        return;
    attempt->good = false;
    (void)snprintf(attempt->reason, sizeof(attempt->reason), "it printed %llu bytes: %.*s",
                   (unsigned long long)attempt->total, (int)attempt->kept, attempt->output);
}

static bool run_once(struct part *part)
{
    if (part->contestant->request != NULL)
        provider_call(part->contestant->request, &part->attempt);
    else
        spawned_run(part->contestant->argv, &part->attempt);
    check_output(part->contest, &part->attempt);
    return part->attempt.good;
}

static void *take_part(void *argument)
{
    struct part *part = argument;
    if (part->barrier != NULL)
        (void)pthread_barrier_wait(part->barrier);
    part->begin_ms = clock_ms();
    for (size_t i = 0; i < part->contest->each; i++) {
        bool good = false;
        for (size_t attempt = 0; attempt < part->contest->attempts; attempt++) {
            good = run_once(part);
            if (good)
                break;
            part->failures++;
            memcpy(part->reason, part->attempt.reason, sizeof(part->reason));
        }
        if (good)
            part->times[part->good++] = part->attempt.ms;
    }
    part->end_ms = clock_ms();
    return NULL;
}

/* Starts all callers of a turn together and waits for them. */
static void run_threads(struct part *parts, size_t count)
{
    pthread_t threads[CALLER_LIMIT];
    pthread_barrier_t barrier;
    (void)pthread_barrier_init(&barrier, NULL, (unsigned int)count);
    for (size_t i = 0; i < count; i++) {
        parts[i].barrier = &barrier;
        if (pthread_create(&threads[i], NULL, take_part, &parts[i]) != 0) {
            (void)fprintf(stderr, "bench: no thread for caller %zu\n", i);
            exit(1);
        }
    }
    for (size_t i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
    (void)pthread_barrier_destroy(&barrier);
}

static void note_times(const struct contest *contest, struct contestant *contestant,
                       const struct part *parts)
{
    double begin = parts[0].begin_ms;
    double end = parts[0].end_ms;
    for (size_t i = 0; i < contest->callers; i++) {
        for (size_t run = 0; run < parts[i].good; run++)
            (void)json_array_append_new(contestant->runs_ms, json_real(parts[i].times[run]));
        begin = parts[i].begin_ms < begin ? parts[i].begin_ms : begin;
        end = parts[i].end_ms > end ? parts[i].end_ms : end;
    }
    (void)json_array_append_new(contestant->turns_ms, json_real(end - begin));
}

static void note_failures(struct contest *contest, struct contestant *contestant,
                          const struct part *parts)
{
    for (size_t i = 0; i < contest->callers; i++) {
        contestant->failures += (json_int_t)parts[i].failures;
        if (parts[i].failures > 0)
            (void)snprintf(contest->reason, sizeof(contest->reason), "%s: %s", contestant->name,
                           parts[i].reason);
    }
}

static bool take_turn(struct contest *contest, struct contestant *contestant, bool counted)
{
    struct part *parts = calloc(contest->callers, sizeof(*parts));
    double *times = calloc(contest->callers * contest->each, sizeof(*times));
    bool there = parts != NULL && times != NULL;
    for (size_t i = 0; there && i < contest->callers; i++) {
        parts[i].contest = contest;
        parts[i].contestant = contestant;
        parts[i].times = times + i * contest->each;
    }
    if (there) {
        if (contest->callers == 1)
            (void)take_part(&parts[0]);
        else
            run_threads(parts, contest->callers);
        note_failures(contest, contestant, parts);
        if (counted)
            note_times(contest, contestant, parts);
    }
    free(parts);
    free(times);
    return there;
}

static bool read_command(const json_t *argv, struct contestant *ret)
{
    size_t i;
    json_t *argument;
    if (json_array_size(argv) == 0 || json_array_size(argv) > ARGUMENT_LIMIT)
        return false;
    json_array_foreach(argv, i, argument)
    {
        /* posix_spawn() wants it mutable and does not change it. */
        ret->argv[i] = (char *)(uintptr_t)json_string_value(argument);
        if (ret->argv[i] == NULL)
            return false;
    }
    return true;
}

static bool read_contestants(const json_t *list, struct contest *contest)
{
    size_t i;
    json_t *entry;
    if (json_array_size(list) == 0 || json_array_size(list) > CONTESTANT_LIMIT)
        return false;
    json_array_foreach(list, i, entry)
    {
        struct contestant *contestant = &contest->contestants[contest->count++];
        contestant->name = json_string_value(json_object_get(entry, "name"));
        contestant->runs_ms = json_array();
        contestant->turns_ms = json_array();
        const json_t *request = json_object_get(entry, "request");
        if (request != NULL)
            contestant->request = json_dumps(request, 0);
        if (contestant->name == NULL || (contestant->request == NULL &&
                                         !read_command(json_object_get(entry, "argv"), contestant)))
            return false;
    }
    return true;
}

static size_t read_count(const json_t *order, const char *name, size_t limit)
{
    json_int_t value = json_integer_value(json_object_get(order, name));
    if (value < 1)
        return 1;
    return (size_t)value < limit ? (size_t)value : limit;
}

static bool hold(struct contest *contest, const json_t *order)
{
    size_t rounds = read_count(order, "rounds", 1000000);
    size_t warm_up = (size_t)json_integer_value(json_object_get(order, "warm_up"));
    useconds_t pause = (useconds_t)json_integer_value(json_object_get(order, "pause_ms")) * 1000;
    double budget = json_number_value(json_object_get(order, "budget_ms"));
    double end = 0;
    for (size_t round = 0; round < warm_up + rounds; round++) {
        if (round == warm_up)
            end = clock_ms() + budget;
        if (round > warm_up && clock_ms() > end)
            return true;
        for (size_t i = 0; i < contest->count; i++) {
            (void)usleep(pause);
            if (!take_turn(contest, &contest->contestants[(round + i) % contest->count],
                           round >= warm_up))
                return false;
        }
    }
    return true;
}

static json_t *tell(const struct contest *contest)
{
    json_t *runs = json_object();
    json_t *turns = json_object();
    json_t *failures = json_object();
    for (size_t i = 0; i < contest->count; i++) {
        const struct contestant *contestant = &contest->contestants[i];
        (void)json_object_set(runs, contestant->name, contestant->runs_ms);
        (void)json_object_set(turns, contestant->name, contestant->turns_ms);
        (void)json_object_set_new(failures, contestant->name, json_integer(contestant->failures));
    }
    return json_pack("{s:o, s:o, s:o, s:s?}", "runs_ms", runs, "turns_ms", turns, "failures",
                     failures, "reason", contest->reason[0] != '\0' ? contest->reason : NULL);
}

json_t *contest_hold(const json_t *order)
{
    struct contest contest = {
        .callers = read_count(order, "callers", CALLER_LIMIT),
        .each = read_count(order, "each", 1000000),
        .attempts = read_count(order, "attempts", 10),
        .expect = json_string_value(json_object_get(order, "expect")),
        .expect_bytes = (uint64_t)json_integer_value(json_object_get(order, "expect_bytes")),
    };
    json_t *told = NULL;
    if (read_contestants(json_object_get(order, "contestants"), &contest) && hold(&contest, order))
        told = tell(&contest);
    for (size_t i = 0; i < contest.count; i++) {
        free(contest.contestants[i].request);
        json_decref(contest.contestants[i].runs_ms);
        json_decref(contest.contestants[i].turns_ms);
    }
    return told;
}
