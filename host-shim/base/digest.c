/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256, HMAC-SHA-256 and random bytes as text. Any thread. */
#include "base/digest.h"

#include <errno.h>
#include <sha256.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define BLOCK 64u /* of SHA-256, in bytes */

void hex_write(const void *bytes, size_t length, char *ret_hex)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *next = bytes;
    for (size_t i = 0; i < length; i++) {
        ret_hex[2 * i] = digits[next[i] >> 4];
        ret_hex[2 * i + 1] = digits[next[i] & 0x0F];
    }
    ret_hex[2 * length] = '\0';
}

bool hex_differs(const char *left, const char *right, size_t length)
{
    unsigned difference = 0;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned)(left[i] ^ right[i]);
    return difference != 0;
}

bool hex_random(char *ret_hex, size_t digits)
{
    unsigned char bytes[SHA256_HEX / 2];
    ssize_t got = getrandom(bytes, digits / 2, 0);
    if (got != (ssize_t)(digits / 2)) /* cannot happen: up to 256 bytes come at once, or wait */
        return false;
    hex_write(bytes, digits / 2, ret_hex);
    return true;
}

static void sha256_of(const void *first, size_t first_length, const struct digest_part *parts,
                      size_t count, uint8_t ret_digest[SHA256_DIGEST_LENGTH])
{
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, first, first_length);
    for (size_t i = 0; i < count; i++)
        SHA256Update(&context, parts[i].bytes, parts[i].length);
    SHA256Final(ret_digest, &context);
    explicit_bzero(&context, sizeof(context));
}

void sha256_hex(const void *bytes, size_t length, char ret_hex[SHA256_HEX + 1])
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    sha256_of(bytes, length, NULL, 0, digest);
    hex_write(digest, sizeof(digest), ret_hex);
}

bool sha256_hex_of_file(int fd, uint64_t size, char ret_hex[SHA256_HEX + 1])
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    unsigned char bytes[65536];
    SHA2_CTX context;
    SHA256Init(&context);
    uint64_t done = 0;
    while (done < size) {
        size_t wanted = size - done < sizeof(bytes) ? (size_t)(size - done) : sizeof(bytes);
        ssize_t got = pread(fd, bytes, wanted, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = ENODATA; /* it became shorter */
        if (got <= 0)
            return false;
        SHA256Update(&context, bytes, (size_t)got);
        done += (uint64_t)got;
    }
    SHA256Final(digest, &context);
    hex_write(digest, sizeof(digest), ret_hex);
    return true;
}

void hmac_sha256_hex(const void *key, size_t key_length, const struct digest_part *parts,
                     size_t count, char ret_hex[SHA256_HEX + 1])
{
    uint8_t block[BLOCK] = {0};
    uint8_t inner[BLOCK], outer[BLOCK];
    uint8_t digest[SHA256_DIGEST_LENGTH];
    const struct digest_part inner_digest = {digest, sizeof(digest)};
    if (key_length > BLOCK)
        sha256_of(key, key_length, NULL, 0, block);
    else
        memcpy(block, key, key_length);
    for (size_t i = 0; i < BLOCK; i++) {
        inner[i] = block[i] ^ 0x36;
        outer[i] = block[i] ^ 0x5C;
    }
    sha256_of(inner, sizeof(inner), parts, count, digest);
    sha256_of(outer, sizeof(outer), &inner_digest, 1, digest);
    hex_write(digest, sizeof(digest), ret_hex);
    explicit_bzero(block, sizeof(block));
    explicit_bzero(inner, sizeof(inner));
    explicit_bzero(outer, sizeof(outer));
}
