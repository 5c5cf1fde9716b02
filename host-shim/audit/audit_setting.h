/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log that the command line names, with its key. Main thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit_log.h"
#include "audit/audit_show.h"
#include "base/failure.h"

/* The command line's; texts are borrowed. */
struct audit_options {
    const char *path;                      /* NULL: the default one */
    const char *keys[AUDIT_KEYS_MOST - 1]; /* --previous-key is one more */
    size_t key_count;
    const char *previous_key;
    uint64_t max_bytes;
    const char *head;
    bool partial;
    struct audit_filter shown;
};

struct audit_setting {
    struct audit_log log; /* borrows from the others, so that a setting is not copied */
    char *default_path;
    struct hmac_key *key; /* NULL: none was given */
};

/* The log that calls append to; where it is the default one its directories are made. The setting
 * must be cleared (audit_setting_clear()) after true. */
bool audit_setting_make(const struct audit_options *options, struct audit_setting *ret,
                        struct failure *failure);
void audit_setting_clear(struct audit_setting *setting);

/* A key of its own in memory; wiped and freed by audit_setting_free_key(). */
bool audit_setting_read_key(const char *path, struct hmac_key **ret, struct failure *failure);
void audit_setting_free_key(struct hmac_key **key);
