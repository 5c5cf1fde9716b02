/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 (FIPS 180-4) of bytes that come in pieces, for programs that load no library: the init
 * and the payload of a sandbox, and the modules that interpreters load. The gateway has libmd. Pure
 * code, any process.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA256_TEXT_LENGTH 64 /* lower-case hexadecimal digits */

struct sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    unsigned char block[64];
};

void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *bytes, size_t length);
/* The hash as text; nothing can be added behind it. */
void sha256_end(struct sha256 *hash, char ret[SHA256_TEXT_LENGTH + 1]);
