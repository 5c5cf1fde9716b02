/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of an audit log in the order of their lines: from the one that was asked for back over
 * those that it continues. Each is read as far as it was when it was found, so that appending goes
 * on meanwhile. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "audit/audit_line.h"
#include "base/failure.h"

struct audit_chain_file {
    char *path; /* owned */
    FILE *file; /* owned; at its beginning */
    off_t size;
};

struct audit_chain {
    struct audit_chain_file *files; /* the oldest is the first */
    size_t count;
};

/* names: files in the order of their lines; the first one's predecessors are found in its
 * directory. partial: it need not have one any more. */
bool audit_chain_open(const char *const *names, size_t count, bool partial, struct audit_chain *ret,
                      struct failure *failure);
void audit_chain_close(struct audit_chain *chain);

/* Reads the next line with its break, from the file's offset and below its size, into line
 * (AUDIT_LINE_LIMIT bytes); 0 at the end. A line that is longer comes in pieces without a break. */
size_t audit_chain_read_line(FILE *file, off_t size, char *line);
