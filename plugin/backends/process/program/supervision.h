/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of a run that the kernel does not hold, because it has neither a control group nor a
 * user nor a file system of its own. Its init counts at short intervals, in /proc and in the run's
 * directory, and ends the run that has exceeded one. A program may have more for the length of an
 * interval: docs/threat-model.md has the figures. Runs in inits, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backends/process/messages/report.h"
#include "backends/process/program/process_memory.h"

struct supervision {
    struct inheritance inheritance; /* zeros: the program is no copy */
    pid_t spared;         /* a child of the init that is none of the program's; 0: there is none */
    uint64_t input_bytes; /* of files by reference, which do not take the program's own room */
    pid_t beginning; /* a further program that is still ours, and not to be looked into; or 0 */
    const char *directory; /* the run's own; NULL: nothing is supervised */
    struct run_limits limits;
    uint64_t next_us;         /* CLOCK_MONOTONIC: when to count the processes, ... */
    uint64_t next_close_us;   /* ... to look at what they have, ... */
    uint64_t next_scratch_us; /* ... and at the directory */
    uint64_t next_parts_us;   /* when to ask anew what processes have in common, ... */
    uint64_t common_bytes;    /* ... which was this */
    uint64_t bytes_of_socket; /* that it can hold */
    uint64_t socket_bytes;    /* that those of the tree can hold, as of the last look at them */
    bool is_near;             /* looks are more frequent */
    bool rests;               /* all is stopped, and looks are rare */
    uint64_t peak_memory_bytes;
    uint64_t peak_processes;
};

/* Does /proc tell what is to be counted? errno where it does not. */
bool supervision_is_possible(void);
/* What a socket can hold, asked ahead of the program. */
uint64_t supervision_bytes_of_socket(void);
/* directory: as long as *ret, of which inheritance, spared, input_bytes and bytes_of_socket are set
 * already. What a control group of
 * the isolation limits is not supervised. */
void supervision_begin(const char *directory, const struct run_limits *limits,
                       const struct isolation_report *isolation, struct supervision *ret);
/* The tree was stopped, or is about to go on. */
void supervision_rest(struct supervision *supervision, bool rests);
/* Into the usage of REPORT_ENDED, what no control group tells. */
void supervision_report(const struct supervision *supervision, struct report *ended);
/* Until the next look is due; -1: none is. */
int supervision_wait_ms(const struct supervision *supervision);
/* The limit that is exceeded; RUN_CAUSE_EXIT: none, or no look is due. */
enum run_cause supervision_look(struct supervision *supervision);
