/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and checks the state that a client carries. Any thread. */
#include "mcp/approval/request_state.h"

#include <errno.h>
#include <sha256.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/number.h"

#define BLOCK       64u /* of SHA-256 */
#define CODE_DIGITS 64u
#define HASH_DIGITS 64u

static bool fill_random(void *bytes, size_t length)
{
    return getrandom(bytes, length, 0) == (ssize_t)length;
}

static void to_hex(const unsigned char *bytes, size_t length, char *ret)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < length; i++) {
        ret[2 * i] = digits[bytes[i] >> 4];
        ret[2 * i + 1] = digits[bytes[i] & 15];
    }
    ret[2 * length] = '\0';
}

bool request_state_make_key(unsigned char ret_key[REQUEST_STATE_KEY], struct failure *failure)
{
    if (fill_random(ret_key, REQUEST_STATE_KEY))
        return true;
    return failure_set_errno(failure, "internal", errno, "no random numbers");
}

bool request_state_make_nonce(char ret_nonce[REQUEST_STATE_NONCE + 1])
{
    unsigned char bytes[REQUEST_STATE_NONCE / 2];
    if (!fill_random(bytes, sizeof(bytes)))
        return false;
    to_hex(bytes, sizeof(bytes), ret_nonce);
    return true;
}

/* The key is shorter than a block, as RFC 2104 wants it. Every text goes in with its NUL, so that
 * no two lists of texts are one stream of bytes. */
static void authenticate(const unsigned char key[REQUEST_STATE_KEY], const char *const texts[],
                         size_t count, char ret_code[CODE_DIGITS + 1])
{
    unsigned char inner[BLOCK], outer[BLOCK], digest[SHA256_DIGEST_LENGTH];
    for (size_t i = 0; i < BLOCK; i++) {
        unsigned char byte = i < REQUEST_STATE_KEY ? key[i] : 0;
        inner[i] = byte ^ 0x36;
        outer[i] = byte ^ 0x5c;
    }
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, inner, sizeof(inner));
    for (size_t i = 0; i < count; i++)
        SHA256Update(&context, (const uint8_t *)texts[i], strlen(texts[i]) + 1);
    SHA256Final(digest, &context);
    SHA256Init(&context);
    SHA256Update(&context, outer, sizeof(outer));
    SHA256Update(&context, digest, sizeof(digest));
    SHA256Final(digest, &context);
    to_hex(digest, sizeof(digest), ret_code);
}

void request_state_make(const unsigned char key[REQUEST_STATE_KEY],
                        const struct request_state_subject *subject,
                        char ret_text[REQUEST_STATE_LIMIT])
{
    char code[CODE_DIGITS + 1];
    int length = snprintf(ret_text, REQUEST_STATE_LIMIT, "%s.%s.%llu", subject->nonce,
                          subject->request_sha256, (unsigned long long)subject->expires_ms);
    authenticate(key, (const char *const[]){ret_text, subject->principal, subject->call_sha256}, 3,
                 code);
    (void)snprintf(ret_text + length, REQUEST_STATE_LIMIT - (size_t)length, ".%s", code);
}

/* Looks at every digit, so that how long it takes says nothing of how much was right. */
static bool same_code(const char *one, const char *other)
{
    unsigned difference = 0;
    for (size_t i = 0; i < CODE_DIGITS; i++)
        difference |= (unsigned char)one[i] ^ (unsigned char)other[i];
    return difference == 0;
}

enum request_state_verdict request_state_check(const unsigned char key[REQUEST_STATE_KEY],
                                               const char *text, const char *principal,
                                               const char *call_sha256, uint64_t now_ms,
                                               char ret_nonce[REQUEST_STATE_NONCE + 1])
{
    char signed_part[REQUEST_STATE_LIMIT];
    char code[CODE_DIGITS + 1];
    const char *dot = strrchr(text, '.');
    size_t length = dot ? (size_t)(dot - text) : 0;
    if (!dot || length >= sizeof(signed_part) || strlen(dot + 1) != CODE_DIGITS)
        return REQUEST_STATE_FORGED;
    memcpy(signed_part, text, length);
    signed_part[length] = '\0';
    authenticate(key, (const char *const[]){signed_part, principal, call_sha256}, 3, code);
    /* What is behind here was written by request_state_make(). */
    uint64_t expires_ms = 0;
    if (!same_code(code, dot + 1) || length < REQUEST_STATE_NONCE + HASH_DIGITS + 3 ||
        !number_parse(signed_part + REQUEST_STATE_NONCE + HASH_DIGITS + 2, UINT64_MAX, &expires_ms))
        return REQUEST_STATE_FORGED;
    memcpy(ret_nonce, signed_part, REQUEST_STATE_NONCE);
    ret_nonce[REQUEST_STATE_NONCE] = '\0';
    return now_ms < expires_ms ? REQUEST_STATE_GOOD : REQUEST_STATE_EXPIRED;
}
