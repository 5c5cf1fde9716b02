/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key for HMAC-SHA-256, of an audit log or a webhook: without it, write permission for the log is
 * not enough to forge its chain. Owned by the command; constant between reading and wiping.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"

#define HMAC_KEY_LEAST 32u
#define HMAC_KEY_MOST  4096u
#define HMAC_KEY_ID    16u /* hex digits */

struct hmac_key {
    char id[HMAC_KEY_ID + 1]; /* distinguishes keys, reveals nothing of them; "": no key */
    size_t length;
    unsigned char bytes[HMAC_KEY_MOST + 1];
};

/* Reads the file's bytes without one line break at its end. The file must be its owner's alone. */
bool hmac_key_read(const char *path, struct hmac_key *ret, struct failure *failure);
void hmac_key_wipe(struct hmac_key *key);
