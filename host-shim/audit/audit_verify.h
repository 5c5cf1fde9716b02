/* SPDX-License-Identifier: Apache-2.0 */
/* Walks an audit log from its first line to its last. Main thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit_line.h"
#include "base/failure.h"

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
