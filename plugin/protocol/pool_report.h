/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ready sandboxes of a backend at the moment of the question (CONTROL_POOL, channel.h): one
 * datagram of fixed length, a row for each kind of interpreter that waits. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run_description.h"

#define POOL_REPORT_LENGTH (4 + RUN_INTERPRETER_COUNT * 16) /* bytes */

/* The ready sandboxes with one kind of interpreter, of all configurations together. */
struct pool_row {
    uint32_t ready; /* RUN_POOL_LIMIT at most */
    uint32_t wanted;
    uint64_t memory_bytes; /* that the ready ones hold, as the pool reckons; or
                              RUN_USAGE_UNKNOWN */
};

struct pool_report {
    struct pool_row rows[RUN_INTERPRETER_COUNT]; /* by enum run_interpreter */
};

void pool_report_encode(const struct pool_report *report,
                        unsigned char message[POOL_REPORT_LENGTH]);
/* false and *ret untouched where the bytes are no report of this version or hold a value out of
 * range. */
bool pool_report_decode(const unsigned char *message, size_t length, struct pool_report *ret);
