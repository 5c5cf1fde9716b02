/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4, by libmd) and HMAC-SHA-256 (RFC 2104) as lower-case hex, and random hex. Any
 * thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_HEX 64u

/* length bytes become twice as many digits, with a NUL behind them. */
void hex_write(const void *bytes, size_t length, char *ret_hex);
/* In constant time. */
bool hex_differs(const char *left, const char *right, size_t length);
/* An even number of random digits, at most SHA256_HEX, with a NUL behind them; false leaves errno.
 */
bool hex_random(char *ret_hex, size_t digits);

void sha256_hex(const void *bytes, size_t length, char ret_hex[SHA256_HEX + 1]);

/* Of the first size bytes of a file, wherever its offset is; false leaves errno. */
bool sha256_hex_of_file(int fd, uint64_t size, char ret_hex[SHA256_HEX + 1]);

struct digest_part {
    const void *bytes;
    size_t length;
};

/* Of the parts, one behind the other. A key of any length. */
void hmac_sha256_hex(const void *key, size_t key_length, const struct digest_part *parts,
                     size_t count, char ret_hex[SHA256_HEX + 1]);
