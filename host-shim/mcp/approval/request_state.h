/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text that a client carries back to us with its next try ("requestState"). It passes through
 * hands we do not trust: a code under a key of this process (HMAC-SHA-256, RFC 2104) binds it to
 * the request, the principal and the call it was made for, and it expires. Pure code but for the
 * key, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"

#define REQUEST_STATE_KEY   32u
#define REQUEST_STATE_NONCE 32u  /* hexadecimal digits */
#define REQUEST_STATE_LIMIT 256u /* with its NUL */

struct request_state_subject {
    const char *nonce;          /* REQUEST_STATE_NONCE digits */
    const char *request_sha256; /* what was asked about, 64 digits */
    const char *principal;
    const char *call_sha256; /* name and arguments as the client sent them, 64 digits */
    uint64_t expires_ms;     /* monotonic_ms() */
};

enum request_state_verdict {
    REQUEST_STATE_GOOD,
    REQUEST_STATE_EXPIRED, /* ours, but too old */
    REQUEST_STATE_FORGED,  /* not ours, or not for this principal and call */
};

bool request_state_make_key(unsigned char ret_key[REQUEST_STATE_KEY], struct failure *failure);
void request_state_make(const unsigned char key[REQUEST_STATE_KEY],
                        const struct request_state_subject *subject,
                        char ret_text[REQUEST_STATE_LIMIT]);
/* The nonce is set unless it is forged. */
enum request_state_verdict request_state_check(const unsigned char key[REQUEST_STATE_KEY],
                                               const char *text, const char *principal,
                                               const char *call_sha256, uint64_t now_ms,
                                               char ret_nonce[REQUEST_STATE_NONCE + 1]);
