/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name that a TLS client asks for, in the first bytes that it sends (RFC 8446 section 4.1.2,
 * RFC 6066 section 3). What cannot be read for sure is no name. Pure code, one thread.
 */
#pragma once

#include <stddef.h>

#define CLIENT_HELLO_LIMIT 32768 /* bytes, with the heads of records */

enum hello_outcome {
    HELLO_INCOMPLETE, /* more bytes are needed */
    HELLO_GOOD,       /* it names that host, in the open */
    HELLO_NOT_TLS,
    HELLO_NO_NAME,
    HELLO_OTHER_NAME,
    HELLO_ENCRYPTED, /* the name that counts would be hidden (ECH) */
    HELLO_OUTCOME_COUNT
};

enum hello_outcome client_hello_judge(const unsigned char *bytes, size_t length, const char *host);
/* Why it is refused; outcome > HELLO_GOOD. */
const char *client_hello_refusal(enum hello_outcome outcome);
