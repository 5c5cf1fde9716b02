/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of a ClientHello: see client_hello.h. Runs in the broker. */
#include "backends/egress/tunnel/client_hello.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define RECORD_HEAD      5
#define RECORD_HANDSHAKE 22
#define RECORD_LIMIT     16384
#define HANDSHAKE_HEAD   4
#define CLIENT_HELLO     1
#define EXTENSION_NAME   0x0000
#define EXTENSION_ECH    0xfe0d
#define EXTENSION_ESNI   0xffce /* drafts ahead of ECH */
#define NAME_KIND_HOST   0

/* A part of a message; a reader that has failed stays failed. */
struct part {
    const unsigned char *bytes;
    size_t length;
    bool failed;
};

static const unsigned char *take(struct part *part, size_t length)
{
    if (part->failed || part->length < length) {
        part->failed = true;
        return NULL;
    }
    const unsigned char *bytes = part->bytes;
    part->bytes += length;
    part->length -= length;
    return bytes;
}

static size_t take_number(struct part *part, size_t width)
{
    const unsigned char *bytes = take(part, width);
    size_t number = 0;
    for (size_t i = 0; bytes && i < width; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* The bytes behind a length of that width. */
static struct part take_part(struct part *part, size_t width)
{
    size_t length = take_number(part, width);
    const unsigned char *bytes = take(part, length);
    return (struct part){bytes, bytes ? length : 0, !bytes};
}

/* A list of exactly one name, a host's. */
static enum hello_outcome judge_names(struct part extension, const char *host)
{
    struct part list = take_part(&extension, 2);
    size_t kind = take_number(&list, 1);
    struct part name = take_part(&list, 2);
    if (extension.failed || extension.length || list.failed || list.length || name.failed ||
        kind != NAME_KIND_HOST)
        return HELLO_NO_NAME;
    bool same = name.length == strlen(host) &&
                strncasecmp((const char *)name.bytes, host, name.length) == 0;
    return same ? HELLO_GOOD : HELLO_OTHER_NAME;
}

static enum hello_outcome judge_extensions(struct part extensions, const char *host)
{
    enum hello_outcome outcome = HELLO_NO_NAME;
    size_t names = 0;
    while (extensions.length > 0 && !extensions.failed) {
        size_t kind = take_number(&extensions, 2);
        struct part extension = take_part(&extensions, 2);
        if (kind == EXTENSION_ECH || kind == EXTENSION_ESNI)
            return HELLO_ENCRYPTED;
        if (kind == EXTENSION_NAME && !extension.failed && names++ == 0)
            outcome = judge_names(extension, host);
    }
    return extensions.failed ? HELLO_NOT_TLS : names > 1 ? HELLO_NO_NAME : outcome;
}

static enum hello_outcome judge_message(struct part message, const char *host)
{
    (void)take(&message, 2 + 32); /* version, random */
    (void)take_part(&message, 1); /* session */
    (void)take_part(&message, 2); /* ciphers */
    (void)take_part(&message, 1); /* compression */
    if (message.failed)
        return HELLO_NOT_TLS;
    if (message.length == 0)
        return HELLO_NO_NAME;
    struct part extensions = take_part(&message, 2);
    if (message.failed || message.length > 0)
        return HELLO_NOT_TLS;
    return judge_extensions(extensions, host);
}

/* Joins the records of the first handshake message in ret, which has room for all bytes. */
static enum hello_outcome join_records(struct part bytes, unsigned char *ret, size_t *ret_length)
{
    *ret_length = 0;
    for (;;) {
        if (*ret_length >= HANDSHAKE_HEAD) {
            size_t whole = HANDSHAKE_HEAD + ((size_t)ret[1] << 16 | (size_t)ret[2] << 8 | ret[3]);
            if (ret[0] != CLIENT_HELLO || whole > CLIENT_HELLO_LIMIT)
                return HELLO_NOT_TLS;
            if (*ret_length >= whole)
                return *ret_length == whole ? HELLO_GOOD : HELLO_NOT_TLS;
        }
        /* What is there of a record's head must be that of a handshake already. */
        if ((bytes.length > 0 && bytes.bytes[0] != RECORD_HANDSHAKE) ||
            (bytes.length > 1 && bytes.bytes[1] != 3))
            return HELLO_NOT_TLS;
        if (bytes.length < RECORD_HEAD)
            return HELLO_INCOMPLETE;
        size_t length = (size_t)bytes.bytes[3] << 8 | bytes.bytes[4];
        if (length == 0 || length > RECORD_LIMIT)
            return HELLO_NOT_TLS;
        (void)take(&bytes, RECORD_HEAD);
        const unsigned char *content = take(&bytes, length);
        if (!content)
            return HELLO_INCOMPLETE;
        memcpy(ret + *ret_length, content, length);
        *ret_length += length;
    }
}

enum hello_outcome client_hello_judge(const unsigned char *bytes, size_t length, const char *host)
{
    unsigned char message[CLIENT_HELLO_LIMIT];
    size_t message_length;
    struct part all = {bytes, length < CLIENT_HELLO_LIMIT ? length : CLIENT_HELLO_LIMIT, false};
    enum hello_outcome outcome = join_records(all, message, &message_length);
    if (outcome == HELLO_INCOMPLETE && length >= CLIENT_HELLO_LIMIT)
        return HELLO_NOT_TLS;
    if (outcome != HELLO_GOOD)
        return outcome;
    return judge_message(
        (struct part){message + HANDSHAKE_HEAD, message_length - HANDSHAKE_HEAD, false}, host);
}

const char *client_hello_refusal(enum hello_outcome outcome)
{
    static const char *const refusals[HELLO_OUTCOME_COUNT] = {
        [HELLO_NOT_TLS] = "the tunnel does not begin with a TLS ClientHello",
        [HELLO_NO_NAME] = "the TLS ClientHello names no server",
        [HELLO_OTHER_NAME] = "the TLS ClientHello names another server",
        [HELLO_ENCRYPTED] = "the TLS ClientHello has an encrypted part (ECH)",
    };
    return refusals[outcome];
}
