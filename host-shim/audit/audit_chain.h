/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An audit log over all of its files, in the order of their lines, and whether each of its records
 * is as it was written. The files: from the one that was asked for back over those that it
 * continues. Each is read as far as it was when it was found, so that appending goes on meanwhile.
 * Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

struct audit_question {
    const char *const *names; /* files, in the order of their lines */
    size_t name_count;
    bool partial;           /* the oldest files may have been put away */
    const char *head;       /* the sha256 of a record that must be among them; or NULL */
    struct audit_keys keys; /* where there is one, the last record must be signed by one */
    /* Called for each record that is whole and in its place, in their order; or NULL. */
    void (*visit)(void *user, const struct audit_entry *entry);
    void *user;
};

struct audit_answer {
    struct audit_link last;       /* seq 0: there are no records */
    uint64_t first_seq;           /* other than 1 only where partial */
    uint64_t mended;              /* torn lines that the log itself has mended */
    uint64_t unchecked;           /* records that are signed by a key that was not given */
    char key_id[HMAC_KEY_ID + 1]; /* that signed the last record; "": none */
    size_t files;
};

/* True when every record is whole, in its place and unchanged. Else the failure (audit_broken)
 * names the first that is not, and what was done to it: changed, removed, reordered, added, cut
 * off. *ret is filled as far as it got in either case. */
bool audit_verify(const struct audit_question *question, struct audit_answer *ret,
                  struct failure *failure);
