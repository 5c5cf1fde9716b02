/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between a gateway's backend of remote mode and a worker that are about the
 * connection or about a run as a whole. Texts come from a stranger: check one before you show it.
 * Pure code.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REMOTE_NAME_LIMIT      127
#define REMOTE_MODE_LIMIT      31
#define REMOTE_PRINCIPAL_LIMIT 64
#define REMOTE_REASON_LIMIT    255
#define REMOTE_REMEDY_LIMIT    383
#define REMOTE_MESSAGE_LIMIT   2048 /* bytes of any of these as a payload */

struct remote_hello {
    uint32_t link_version;            /* REMOTE_LINK_VERSION of that side */
    uint32_t protocol_version;        /* PROTOCOL_VERSION of that side */
    char name[REMOTE_NAME_LIMIT + 1]; /* for people; the certificate identifies the worker */
    /* From the worker; the gateway leaves them empty. */
    char mode[REMOTE_MODE_LIMIT + 1]; /* "process", "unprivileged" or "docker" */
    uint64_t memory_bytes;
    uint32_t processors;
    uint32_t slots;
};

/* No secret and no code are in it: it may be sent to several workers. */
struct remote_offer {
    uint32_t purpose;    /* enum run_purpose */
    uint32_t is_session; /* 0 or 1 */
    uint64_t memory_bytes;
    uint64_t wall_ms;
    char principal[REMOTE_PRINCIPAL_LIMIT + 1]; /* unused: "" */
};

enum remote_verdict {
    REMOTE_ACCEPTED = 1,
    REMOTE_BUSY,
    REMOTE_DRAINING,
    REMOTE_REFUSED,
    REMOTE_VERDICT_END
};

struct remote_answer {
    uint32_t verdict; /* enum remote_verdict */
    uint64_t retry_after_ms;
    char reason[REMOTE_REASON_LIMIT + 1]; /* "" where it is accepted */
    char remedy[REMOTE_REMEDY_LIMIT + 1];
};

struct remote_capacity {
    uint32_t runs; /* under way */
    uint32_t slots;
    uint64_t memory_free_bytes;
};

/* Each writes a payload; its length. Strings beyond their limit are cut. */
size_t remote_hello_encode(const struct remote_hello *hello,
                           unsigned char ret[REMOTE_MESSAGE_LIMIT]);
size_t remote_offer_encode(const struct remote_offer *offer,
                           unsigned char ret[REMOTE_MESSAGE_LIMIT]);
size_t remote_answer_encode(const struct remote_answer *answer,
                            unsigned char ret[REMOTE_MESSAGE_LIMIT]);
size_t remote_capacity_encode(const struct remote_capacity *capacity,
                              unsigned char ret[REMOTE_MESSAGE_LIMIT]);

/* false and *ret untouched: cut, trailing bytes, a value out of range, a text that is no UTF-8 or
 * has control characters. A hello of other versions is understood as far as the versions, all else
 * is empty then. */
bool remote_hello_decode(const unsigned char *payload, size_t length, struct remote_hello *ret);
bool remote_offer_decode(const unsigned char *payload, size_t length, struct remote_offer *ret);
bool remote_answer_decode(const unsigned char *payload, size_t length, struct remote_answer *ret);
bool remote_capacity_decode(const unsigned char *payload, size_t length,
                            struct remote_capacity *ret);
