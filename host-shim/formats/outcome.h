/* SPDX-License-Identifier: Apache-2.0 */
/* A result as all formats read it, tolerantly. Pure code, any thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* The common input of all formats. */
struct outcome {
    bool ran;
    bool timed_out;
    bool cancelled;
    int exit_status; /* as toolhost run would end */
    json_t *out;     /* texts of any characters, NUL too; owned */
    json_t *err;
    json_t *printed; /* standard output, and behind it values and displays that are text; owned */
    const json_t *files;
    const json_t *results;
    const json_t *error;     /* an object or NULL */
    const json_t *exception; /* the program's own; an object or NULL */
    char *reason;            /* "code: message\nhint: …"; owned; "" where there is no error */
};

/* Borrows from the result; ran: the tool ran, whatever became of its program. false: out of memory.
 */
bool outcome_read(bool ran, const json_t *result, struct outcome *ret);
void outcome_clear(struct outcome *outcome);

/* One of the texts; with a line break at its end, unless it is empty. */
void outcome_write_text(FILE *out, const json_t *text);
void outcome_write_lines(FILE *out, const json_t *text);
