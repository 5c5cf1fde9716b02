/* SPDX-License-Identifier: Apache-2.0 */
/* The files of inside.c, as they come out of a sandbox that fails meanwhile. Single-threaded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "protocol/run_description.h"

struct left_files {
    int pipe; /* to be waited for; -1: it has ended */
    unsigned char *bytes;
    size_t length;
};

/* Makes the run ask for files, and gives the harness the stream of the next one. Aborts where there
 * is none. */
void left_files_expect(struct left_files *ret, struct run_description *description);
/* The run is sent: only the sandbox holds the other end from now on. */
void left_files_sent(void);
/* Takes what has come, and closes the pipe at its end. */
void left_files_read(struct left_files *files);
/* What is wrong with what has come: a file that is told as whole and is not, or one that is missing
 * behind the word that nothing is. NULL: nothing. ret_all: all came, and that word. */
const char *left_files_judge(const struct left_files *files, bool *ret_all);
void left_files_clear(struct left_files *files);
