/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 and HMAC-SHA-256 as text. Any thread. */
#include "base/digest.h"

#include <sha256.h>
#include <string.h>

#define BLOCK 64u /* of SHA-256, in bytes */

static void write_hex(const uint8_t digest[SHA256_DIGEST_LENGTH], char ret_hex[SHA256_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < SHA256_DIGEST_LENGTH; i++) {
        ret_hex[2 * i] = digits[digest[i] >> 4];
        ret_hex[2 * i + 1] = digits[digest[i] & 0x0F];
    }
    ret_hex[SHA256_HEX] = '\0';
}

static void sha256_of_two(const void *first, size_t first_length, const void *second,
                          size_t second_length, uint8_t ret_digest[SHA256_DIGEST_LENGTH])
{
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, first, first_length);
    SHA256Update(&context, second, second_length);
    SHA256Final(ret_digest, &context);
    explicit_bzero(&context, sizeof(context));
}

void sha256_hex(const void *bytes, size_t length, char ret_hex[SHA256_HEX + 1])
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    sha256_of_two(bytes, length, "", 0, digest);
    write_hex(digest, ret_hex);
}

void hmac_sha256_hex(const void *key, size_t key_length, const void *bytes, size_t length,
                     char ret_hex[SHA256_HEX + 1])
{
    uint8_t block[BLOCK] = {0};
    uint8_t inner[BLOCK], outer[BLOCK];
    uint8_t digest[SHA256_DIGEST_LENGTH];
    if (key_length > BLOCK)
        sha256_of_two(key, key_length, "", 0, block);
    else
        memcpy(block, key, key_length);
    for (size_t i = 0; i < BLOCK; i++) {
        inner[i] = block[i] ^ 0x36;
        outer[i] = block[i] ^ 0x5C;
    }
    sha256_of_two(inner, sizeof(inner), bytes, length, digest);
    sha256_of_two(outer, sizeof(outer), digest, sizeof(digest), digest);
    write_hex(digest, ret_hex);
    explicit_bzero(block, sizeof(block));
    explicit_bzero(inner, sizeof(inner));
    explicit_bzero(outer, sizeof(outer));
}

int hex_differs(const char *left, const char *right, size_t length)
{
    unsigned difference = 0;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned)(left[i] ^ right[i]);
    return difference != 0;
}
