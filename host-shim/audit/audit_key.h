/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key that signs an audit log (HMAC-SHA-256): without it, write permission for the log is not
 * enough to forge its chain. Owned by the command; constant between reading and wiping.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"

#define AUDIT_KEY_LEAST 32u
#define AUDIT_KEY_MOST  4096u
#define AUDIT_KEY_ID    16u /* hex digits */

struct audit_key {
    char id[AUDIT_KEY_ID + 1]; /* distinguishes keys, reveals nothing of them; "": no key */
    size_t length;
    unsigned char bytes[AUDIT_KEY_MOST + 1];
};

/* Reads the file's bytes without one line break at its end. The file must be its owner's alone. */
bool audit_key_read(const char *path, struct audit_key *ret, struct failure *failure);
void audit_key_wipe(struct audit_key *key);
