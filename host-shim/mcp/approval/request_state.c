/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and checks the state that a client carries. Any thread. */
#include "mcp/approval/request_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/digest.h"
#include "base/number.h"

bool request_state_make_key(unsigned char ret_key[REQUEST_STATE_KEY], struct failure *failure)
{
    if (getrandom(ret_key, REQUEST_STATE_KEY, 0) == (ssize_t)REQUEST_STATE_KEY)
        return true;
    return failure_set_errno(failure, "internal", errno, "no random numbers");
}

/* Every text goes in with its NUL, so that no two lists of texts are one stream of bytes. */
static void authenticate(const unsigned char key[REQUEST_STATE_KEY], const char *signed_part,
                         const char *principal, const char *call_sha256,
                         char ret_code[SHA256_HEX + 1])
{
    const struct digest_part parts[] = {{signed_part, strlen(signed_part) + 1},
                                        {principal, strlen(principal) + 1},
                                        {call_sha256, strlen(call_sha256) + 1}};
    hmac_sha256_hex(key, REQUEST_STATE_KEY, parts, sizeof(parts) / sizeof(parts[0]), ret_code);
}

void request_state_make(const unsigned char key[REQUEST_STATE_KEY],
                        const struct request_state_subject *subject,
                        char ret_text[REQUEST_STATE_LIMIT])
{
    char code[SHA256_HEX + 1];
    int length = snprintf(ret_text, REQUEST_STATE_LIMIT, "%s.%s.%llu", subject->nonce,
                          subject->request_sha256, (unsigned long long)subject->expires_ms);
    authenticate(key, ret_text, subject->principal, subject->call_sha256, code);
    (void)snprintf(ret_text + length, REQUEST_STATE_LIMIT - (size_t)length, ".%s", code);
}

enum request_state_verdict request_state_check(const unsigned char key[REQUEST_STATE_KEY],
                                               const char *text, const char *principal,
                                               const char *call_sha256, uint64_t now_ms,
                                               char ret_nonce[REQUEST_STATE_NONCE + 1])
{
    char signed_part[REQUEST_STATE_LIMIT];
    char code[SHA256_HEX + 1];
    const char *dot = strrchr(text, '.');
    size_t length = dot ? (size_t)(dot - text) : 0;
    if (!dot || length >= sizeof(signed_part) || strlen(dot + 1) != SHA256_HEX)
        return REQUEST_STATE_FORGED;
    memcpy(signed_part, text, length);
    signed_part[length] = '\0';
    authenticate(key, signed_part, principal, call_sha256, code);
    /* What is behind here was written by request_state_make(). */
    uint64_t expires_ms = 0;
    if (hex_differs(code, dot + 1, SHA256_HEX) || length < REQUEST_STATE_NONCE + SHA256_HEX + 3 ||
        !number_parse(signed_part + REQUEST_STATE_NONCE + SHA256_HEX + 2, UINT64_MAX, &expires_ms))
        return REQUEST_STATE_FORGED;
    memcpy(ret_nonce, signed_part, REQUEST_STATE_NONCE);
    ret_nonce[REQUEST_STATE_NONCE] = '\0';
    return now_ms < expires_ms ? REQUEST_STATE_GOOD : REQUEST_STATE_EXPIRED;
}
