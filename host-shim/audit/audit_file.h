/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of an audit log: opened, judged and locked for one append, so that any number of
 * processes and threads can share it. The locked file is the one at the path: one that was rotated
 * away meanwhile is released. On the thread that appends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "audit/audit_line.h"
#include "base/failure.h"

struct audit_file {
    const char *path; /* borrowed */
    int fd;           /* owned, with the lock; -1: none */
    off_t size;
    bool is_device; /* a character device such as /dev/null: there is no chain */
};

/* The last line, and what a crash has left behind it. */
struct audit_tail {
    struct audit_link last;
    /* The id of the key ("": none) that must sign the next line; starting: any. */
    char next_key_id[HMAC_KEY_ID + 1];
    bool starting;     /* there is no line yet */
    bool lacks_break;  /* the last line is whole but for its line break */
    size_t torn_bytes; /* behind the last whole line; 0: it is the end */
    char torn_sha256[SHA256_HEX + 1];
};

/* Waits for the lock, not forever. The file is made where it is missing. */
bool audit_file_open(const char *path, struct audit_file *ret, struct failure *failure);
void audit_file_close(struct audit_file *file);

/* keys: the last line's signature is checked where its key is among them. A last line that was
 * changed is refused; a torn one is described. */
bool audit_file_read_tail(const struct audit_file *file, const struct audit_keys *keys,
                          struct audit_tail *ret, struct failure *failure);

/* Appends the object as a line behind *last, which moves to it: as "log" where of_log is set, else
 * as "record". prefix stands before the line. object NULL: out of memory. */
bool audit_file_append(struct audit_file *file, struct audit_link *last, const char *prefix,
                       const char *object, bool of_log, const struct hmac_key *key,
                       struct failure *failure);
/* Appends the text, wholly and on the disk, or takes back what of it was written. */
bool audit_file_write(struct audit_file *file, const char *text, size_t length,
                      struct failure *failure);

/* Waits until the names in the path's directory are on the disk. */
bool audit_file_sync_directory(const char *path, struct failure *failure);

/* Begins a new file. The old one gets a name of its own and is not written to again; at each moment
 * the log's path names the old or the new one. *file is the old one before and the new one, locked
 * and with its first line, afterwards; *last goes with it. *ret_name: the old file's name in its
 * directory, new. */
bool audit_file_rotate(struct audit_file *file, struct audit_link *last, const struct hmac_key *key,
                       char **ret_name, struct failure *failure);
