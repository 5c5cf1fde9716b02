/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker's log: one line of JSON an event, on standard error. No code, no output and no secret of
 * a run is in it. A reader that does not read loses lines, and holds up nothing. Runs in
 * code-execute-worker.
 */
#pragma once

#include <stdint.h>

/* A further member of a line; number counts where text is NULL, and "" is left out. */
struct journal_field {
    const char *name; /* NULL: the end */
    const char *text;
    int64_t number;
};

/* At the start: from then on no line waits for its reader, where that is a pipe or a socket. */
void journal_open(void);
/* fields: {0} is behind the last one. */
void journal_write(const char *event, const struct journal_field *fields);
