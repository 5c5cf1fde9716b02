/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log: JSON Lines, each line chained to the one before by its hash, over any number of
 * files. Several processes and threads may append to one log. On the thread inside tool_invoke(),
 * or the main thread of a command.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit/audit_line.h"
#include "base/failure.h"
#include "base/hmac_key.h"

#define AUDIT_MAX_BYTES_LEAST   4096u
#define AUDIT_MAX_BYTES_DEFAULT (64u << 20)

struct audit_log {
    const char *path;
    const struct hmac_key *key; /* signs; NULL: nothing does */
    uint64_t max_bytes; /* a file of that size is rotated before the next record; 0: never */
};

/* ${XDG_STATE_HOME:-$HOME/.local/state}/toolhost/audit.jsonl; new text. */
bool audit_log_default_path(char **ret_path, struct failure *failure);
/* Makes the directories that the path needs (mode 0700). */
bool audit_log_make_directories(const char *path, struct failure *failure);

/* Appends the record; true means that it is on the disk (or that path is a character device such
 * as /dev/null, which takes it without a chain). What a crash has torn off at the end is mended
 * first; a log whose last line was changed is refused, and so is one that another key signs. */
bool audit_log_append(const struct audit_log *log, const char *record_json,
                      struct failure *failure);

/* Begins a new file now. previous: the key that has signed until now (or NULL); log->key signs from
 * now on. *ret_name: the name of what was the log's file until now, new. */
bool audit_log_rotate(const struct audit_log *log, const struct hmac_key *previous, char **ret_name,
                      struct failure *failure);
