/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP/1.1 head by which a server grants a WebSocket, or refuses it (RFC 6455, section 4.2.2),
 * with the body of a refusal as far as it has come. Pure code. Runs in the kubernetes backend.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define UPGRADE_HEAD_LIMIT 16384
#define UPGRADE_V5         "v5.channel.k8s.io"
#define UPGRADE_V4         "v4.channel.k8s.io"

/* Starts all zero. */
struct upgrade {
    char head[UPGRADE_HEAD_LIMIT + 1]; /* with a NUL behind it */
    size_t length;
    size_t body; /* where it begins in head, once the head is whole; 0: not yet */
    int status;
    unsigned int protocol; /* granted: 4 or 5 */
};

enum upgrade_state {
    UPGRADE_MORE,
    UPGRADE_GRANTED,
    UPGRADE_REFUSED, /* status and upgrade_body() say how */
    UPGRADE_BROKEN,  /* not HTTP, too long, or not what RFC 6455 and the request demand */
};

/* Takes bytes up to the end of the head, or of a refusal's body; *ret_taken of them. key: that of
 * the request. Not to be called again after anything but UPGRADE_MORE. */
enum upgrade_state upgrade_feed(struct upgrade *upgrade, const char *key,
                                const unsigned char *bytes, size_t length, size_t *ret_taken);
const char *upgrade_body(const struct upgrade *upgrade, size_t *ret_length);
