/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what comes out of a run: its output, by way of redaction, to where it is kept, and its
 * frames. Shared by the loops around a run (run.c) and around a cell (cell.c). Runs on the thread
 * inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "run/backend_client.h"
#include "run/run.h"

#define RUN_SPARE_BYTES 512 /* to read to where there is no memory for a chunk */

struct run_drain {
    struct run *run;             /* borrowed, as is the next */
    struct backend_run *backend; /* the read ends */
    unsigned char *chunk;        /* NULL: not needed yet */
    unsigned char spare[RUN_SPARE_BYTES];
    uint64_t produced; /* bytes read from the pipes of standard output and error */
    uint64_t framed;   /* and from that of the results */
    /* More than the run's output_limit has come, also each time after that. */
    void (*too_much)(struct run_drain *drain);
};

/* One read. false at end of file or when nothing is there. */
bool run_drain_stream(struct run_drain *drain, int *fd, struct run_stream *stream);
/* The same of the results. Whatever is there is read, wanted or not: a full pipe would hold the
 * program up. */
bool run_drain_results(struct run_drain *drain);
/* After the end: what is in the pipes now, and no more. */
void run_drain_rest(struct run_drain *drain);
void run_drain_clear(struct run_drain *drain);
