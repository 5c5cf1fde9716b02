/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4, by libmd) and HMAC-SHA-256 (RFC 2104) as lower-case hex. Pure code, any
 * thread. */
#pragma once

#include <stddef.h>

#define SHA256_HEX 64u

void sha256_hex(const void *bytes, size_t length, char ret_hex[SHA256_HEX + 1]);

/* A key of any length. */
void hmac_sha256_hex(const void *key, size_t key_length, const void *bytes, size_t length,
                     char ret_hex[SHA256_HEX + 1]);

/* In constant time. */
int hex_differs(const char *left, const char *right, size_t length);
