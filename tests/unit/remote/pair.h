/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gateway's link and a worker's in one process, over a socketpair or through a proxy that cuts
 * the bytes, and what each of them has heard. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/remote/link/link.h"

#define PAIR_RUNS 64

struct heard {
    bool ready, draining;
    struct remote_hello hello;
    size_t offers, answers, arrivals, ends, capacities, descriptions;
    uint32_t offered[PAIR_RUNS], ended[PAIR_RUNS];
    uint32_t answered, verdict; /* the last */
    struct remote_capacity capacity;
    uint32_t arrived[PAIR_RUNS];
    int fds[PAIR_RUNS][RUN_FD_COUNT]; /* of arrivals; the test's */
};

struct pair {
    struct link *gateway, *worker; /* NULL: over, and freed */
    struct heard at_gateway, at_worker;
    struct error gateway_error, worker_error;
    /* Asked of the gateway's link when it is over: whether this run has begun. */
    uint32_t asked;
    bool has_begun;
    /* The worker accepts each offer at once. */
    bool accepts;
    /* What the worker's describe() does: NULL lets everything pass. */
    bool (*describe)(unsigned char **bytes, size_t *length);
    /* Bytes that the proxy lets through in each direction; SIZE_MAX: no proxy. */
    size_t cut_to_worker, cut_to_gateway;
    int proxy[4]; /* its two ends at the gateway's side, and at the worker's; -1: none */
    bool is_cut;
    size_t open_before; /* descriptors of this process, ahead of pair_open() */
};

/* What all pairs use, once a process. */
void pair_setup(void);
void pair_teardown(void);

void pair_begin(struct pair *pair);
void pair_end(struct pair *pair);
/* The same of one without a proxy, whose end leaves no descriptor open that was not there. */
void pair_open(struct pair *pair);
void pair_close(struct pair *pair);
/* One turn of both ends, and of the proxy; waits at most that long. Links that are over are freed.
 */
void pair_turn(struct pair *pair, int wait_ms);
/* Turns until the condition holds, for a minute at most. */
#define PAIR_UNTIL(pair, condition)                                                       \
    do {                                                                                  \
        uint64_t pair_limit_ms = monotonic_ms() + 60000;                                  \
        while (!(condition)) {                                                            \
            HOLDS(monotonic_ms() < pair_limit_ms, "%s:%d: never: %s", __FILE__, __LINE__, \
                  #condition);                                                            \
            pair_turn(pair, 10);                                                          \
        }                                                                                 \
    } while (0)

/* An accepted channel of a new offer. */
uint32_t pair_accept(struct pair *pair);

/* The plugin's ends of a run, and those that it gives away. */
struct test_run {
    uint32_t channel;
    int events, output, errors, results, files, tools, cells, inputs, endpoints;
};
struct run_wish {
    const void *description, *input;
    size_t description_length, input_length;
    bool results, files, tools, session, inputs, endpoints;
};
/* Makes both. */
void run_make(const struct run_wish *wish, struct test_run *ret, int fds[RUN_FD_COUNT]);
void run_close(struct test_run *run);
/* Offers, sends, and waits until it has arrived: the place in pair->at_worker. */
size_t run_begin(struct pair *pair, const struct run_wish *wish, struct test_run *ret);
/* What a descriptor has within a minute, and its end. */
void hears(struct pair *pair, int fd, const char *expected);
void ends(struct pair *pair, int fd);
void close_all(int *fds, size_t count);
/* How many descriptors this process has open. */
size_t count_descriptors(void);
