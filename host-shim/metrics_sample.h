/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file of metrics said at one time: numbers of prometheus_text.h, those with labels added
 * up, and who wrote them. The file is a stranger's: its texts are not fit for a terminal. Any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "failure.h"

enum metric {
    METRIC_READY,
    METRIC_CALLS_UNDER_WAY,
    METRIC_CALLS_RUNNING,
    METRIC_CALLS_QUEUED,
    METRIC_CALLS_WAITING,
    METRIC_CALLS_RUN,
    METRIC_CALLS_NOT_RUN,
    METRIC_CALLS_TOO_MANY,
    METRIC_SANDBOXES_READY,
    METRIC_SANDBOXES_COPIED,
    METRIC_SANDBOXES_NEW,
    METRIC_POOL_READY,
    METRIC_POOL_WANTED,
    METRIC_POOL_MEMORY,
    METRIC_COUNT,
};

#define METRICS_INFO_SIZE 512

struct metrics_sample {
    bool has[METRIC_COUNT];
    uint64_t value[METRIC_COUNT];
    char info[METRICS_INFO_SIZE]; /* the labels of toolhost_info as they stand; "" where none */
    struct timespec written;      /* by the machine's clock */
};

/* false: there is no such file, or it is no file of metrics of toolhost; the failure says why. */
bool metrics_sample_read(const char *path, struct metrics_sample *ret, struct failure *failure);

/* The value of a label of the info, unescaped and cut to the size; "-" where there is none. */
void metrics_sample_label(const struct metrics_sample *sample, const char *name, char *ret,
                          size_t size);

/* How many seconds lie between two times; negative where the first is the later. */
double metrics_seconds_between(struct timespec from, struct timespec until);
