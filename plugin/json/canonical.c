/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical JSON (RFC 8785) and SHA-256. Pure code; runs in the gateway on the calling thread. */
#include "json/canonical.h"

#include <sha256.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "json/json_text.h"

char *canonical_json(const json_t *value)
{
    return json_text(value, JSON_ORDER_SORTED);
}

bool canonical_sha256(const json_t *value, char ret[SHA256_HEX_LENGTH + 1])
{
    CLEANUP_FREE char *text = canonical_json(value);
    if (!text)
        return false;
    sha256_hex(text, strlen(text), ret);
    return true;
}

void hex_text(const void *bytes, size_t length, char *ret)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < length; i++) {
        ret[2 * i] = digits[byte[i] >> 4];
        ret[2 * i + 1] = digits[byte[i] & 0xF];
    }
    ret[2 * length] = '\0';
}

void sha256_hex(const void *bytes, size_t length, char ret[SHA256_HEX_LENGTH + 1])
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256_CTX context;

    SHA256_Init(&context);
    SHA256_Update(&context, bytes, length);
    SHA256_Final(digest, &context);
    hex_text(digest, sizeof(digest), ret);
}
