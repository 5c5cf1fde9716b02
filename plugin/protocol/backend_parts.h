/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a backend works with at the moment of the question (CONTROL_PARTS, channel.h), such as the
 * workers of mode remote: one datagram, with as many parts as it has room for. Pure code, any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BACKEND_PARTS_LIMIT 65536 /* bytes of the datagram */
#define BACKEND_PARTS_MOST  256   /* parts in it */

/* X(constant, name) */
#define BACKEND_PART_STATES(X)  \
    X(USABLE, "usable")         \
    X(UNUSABLE, "unusable")     \
    X(CONNECTING, "connecting") \
    X(DRAINING, "draining")

enum backend_part_state {
#define X(constant, name) BACKEND_PART_##constant,
    BACKEND_PART_STATES(X)
#undef X
        BACKEND_PART_STATE_COUNT
};

struct backend_part {
    char name[128];
    char address[264];
    uint32_t state;    /* enum backend_part_state */
    char mode[32];     /* in which its runs are; "": not known */
    uint32_t runs;     /* under way */
    uint32_t slots;    /* for runs; 0: not known */
    char message[256]; /* why it is not usable, or what else is to be told of it; "" */
    char remedy[384];
};

struct backend_parts {
    uint32_t total; /* that there are; those beyond count are left out */
    size_t count;
    struct backend_part *parts;
};

/* parts of that number, as many as there is room for; the message's length. */
size_t backend_parts_encode(const struct backend_part *parts, size_t count,
                            unsigned char message[BACKEND_PARTS_LIMIT]);
/* true and *ret (backend_parts_clear()); false and *ret untouched where the bytes are no such
 * message of this version, hold a value out of range, or where there is no memory. */
bool backend_parts_decode(const unsigned char *message, size_t length, struct backend_parts *ret);
void backend_parts_clear(struct backend_parts *parts);

/* state < BACKEND_PART_STATE_COUNT */
const char *backend_part_state_name(enum backend_part_state state);
