/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bootstrap is what a container runs first: a constant shell script, which is all that the
 * container's configuration shows. The program's environment, files, standard input and arguments
 * are sent to its standard input as one message. Pure code.
 *
 * Before the program starts, the script reports lines on its standard output; none can be the
 * program's. The last line goes to both outputs, because an engine keeps the order within each but
 * not between them. The script waits for the program and exits with its status. It writes the end
 * mark, the first line that it was sent, before an exit with status 0. It exits when its standard
 * input ends before the message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/run_description.h"

#define BOOTSTRAP_HOME         RUN_HOME
#define BOOTSTRAP_REPORT_LIMIT 8192 /* bytes before the program */

/* A script for "/bin/sh -c"; the image must have sh, dd, mkdir and rm. With arguments it starts an
 * interpreter ahead of the run: see bootstrap.c. */
extern const char bootstrap_script[];

/* A new buffer with the message, which the script or a waiting interpreter reads behind the mark;
 * *ret_length bytes (wipe and free: it holds the secrets). NULL when out of memory or where a
 * variable's name is not valid. input: the program's standard input, NULL: /dev/null. */
unsigned char *bootstrap_message(const struct run_description *description,
                                 const unsigned char *input, size_t input_length,
                                 size_t *ret_length);

enum bootstrap_state {
    BOOTSTRAP_MORE,    /* no verdict yet */
    BOOTSTRAP_READY,   /* what follows is the program's output */
    BOOTSTRAP_MISSING, /* the program is not in the image */
    BOOTSTRAP_FAILED,  /* detail: why; also where the bytes are not a report */
};

/* What has to hold for the script's process, by the kernel's report on it (/proc/self/status). */
enum bootstrap_fact {
    BOOTSTRAP_FACT_CAP_INHERITABLE, /* this and the other sets of capabilities are empty */
    BOOTSTRAP_FACT_CAP_PERMITTED,
    BOOTSTRAP_FACT_CAP_EFFECTIVE,
    BOOTSTRAP_FACT_CAP_BOUNDING,
    BOOTSTRAP_FACT_CAP_AMBIENT,
    BOOTSTRAP_FACT_NO_NEW_PRIVILEGES,
    BOOTSTRAP_FACT_SECCOMP, /* a filter is in force */
    BOOTSTRAP_FACT_ORDINARY_USER,
    BOOTSTRAP_FACT_WAITS, /* for its message, and so does the interpreter, if there is one */
    BOOTSTRAP_FACT_COUNT
};

#define BOOTSTRAP_FACT_BIT(fact) (UINT32_C(1) << (fact))
#define BOOTSTRAP_FACTS_ALL      (BOOTSTRAP_FACT_BIT(BOOTSTRAP_FACT_COUNT) - 1)

/* Starts all zero. */
struct bootstrap_reader {
    char line[256];
    size_t line_length;
    size_t length;  /* bytes taken */
    uint32_t facts; /* bits of the facts that hold */
    char detail[160];
};

/* Takes bytes up to the verdict; *ret_taken of them. Not to be called again after a verdict. */
enum bootstrap_state bootstrap_read(struct bootstrap_reader *reader, const unsigned char *bytes,
                                    size_t length, size_t *ret_taken);
/* The same for the standard error: messages of the script or its tools, then BOOTSTRAP_READY.
 * detail has the messages, in printable characters. */
enum bootstrap_state bootstrap_read_errors(struct bootstrap_reader *reader,
                                           const unsigned char *bytes, size_t length,
                                           size_t *ret_taken);
