/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the container runs first: a constant shell script that is all its configuration shows, and
 * the text that is sent to it through its standard input: environment, files, standard input and
 * arguments of the program. Before it becomes the program it reports on its standard output, as
 * lines; nothing of the program can be among them, because no program runs yet. Its last word goes
 * to both outputs, as an engine keeps the order within each but not between them. It waits for the
 * program and ends as that did; of an end with status 0 it tells first, by the mark, which is the
 * first line that is sent to it. Where nothing is sent to it and its standard input ends, it ends.
 * Pure code.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/run_description.h"

#define BOOTSTRAP_HOME         RUN_HOME
#define BOOTSTRAP_REPORT_LIMIT 8192 /* bytes before the program */

/* A script for "/bin/sh -c"; needs sh, dd, mkdir and rm of the image. With arguments it starts the
 * interpreter of the run to come: see bootstrap.c. */
extern const char bootstrap_script[];

/* A new buffer with everything that the script, or an interpreter that waits, wants to read behind
 * the mark, *ret_length bytes (wipe and free: it holds the secrets); NULL when out of memory or
 * where a variable's name is none. input: the program's standard input, NULL: /dev/null. */
unsigned char *bootstrap_message(const struct run_description *description,
                                 const unsigned char *input, size_t input_length,
                                 size_t *ret_length);

enum bootstrap_state {
    BOOTSTRAP_MORE,    /* no verdict yet */
    BOOTSTRAP_READY,   /* what follows is the program's output */
    BOOTSTRAP_MISSING, /* the program is not in the image */
    BOOTSTRAP_FAILED,  /* detail: why; or not a report at all */
};

/* What the script saw of its own process, as the kernel told it, and as it has to be; and that it
 * is there. */
enum bootstrap_fact {
    BOOTSTRAP_FACT_CAP_INHERITABLE, /* this and the other sets: empty */
    BOOTSTRAP_FACT_CAP_PERMITTED,
    BOOTSTRAP_FACT_CAP_EFFECTIVE,
    BOOTSTRAP_FACT_CAP_BOUNDING,
    BOOTSTRAP_FACT_CAP_AMBIENT,
    BOOTSTRAP_FACT_NO_NEW_PRIVILEGES,
    BOOTSTRAP_FACT_SECCOMP, /* a filter is in force */
    BOOTSTRAP_FACT_ORDINARY_USER,
    BOOTSTRAP_FACT_WAITS, /* for its message, and so does what is to run it, if anything */
    BOOTSTRAP_FACT_COUNT
};

#define BOOTSTRAP_FACT_BIT(fact) (UINT32_C(1) << (fact))
#define BOOTSTRAP_FACTS_ALL      (BOOTSTRAP_FACT_BIT(BOOTSTRAP_FACT_COUNT) - 1)

/* Starts all zero. */
struct bootstrap_reader {
    char line[256];
    size_t line_length;
    size_t length;  /* bytes taken */
    uint32_t facts; /* bits of those that hold */
    char detail[160];
};

/* The same for the standard error: words of the script or its tools, then BOOTSTRAP_READY. What was
 * said is in detail, printable. */
enum bootstrap_state bootstrap_read_errors(struct bootstrap_reader *reader,
                                           const unsigned char *bytes, size_t length,
                                           size_t *ret_taken);

/* Takes bytes up to the verdict; *ret_taken of them. Not to be called again after one. */
enum bootstrap_state bootstrap_read(struct bootstrap_reader *reader, const unsigned char *bytes,
                                    size_t length, size_t *ret_taken);
