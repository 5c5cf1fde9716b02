/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order to the helper program that runs a provider's command, and its answer: one datagram each
 * on its control socket, after its hello (channel.h). Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECRET_ORDER_LIMIT      (128u << 10) /* bytes of an order */
#define SECRET_ORDER_STRINGS    512          /* members of a list */
#define SECRET_COMMAND_LIMIT    (64u << 10)  /* bytes of a value, without its line feed */
#define SECRET_REPLY_HEADER     12
#define SECRET_REPLY_LIMIT      (SECRET_REPLY_HEADER + SECRET_COMMAND_LIMIT + 1)
#define SECRET_COMMAND_GRACE_MS 10000 /* the helper's own time, beyond the command's */

struct secret_order {
    char **argv;        /* argv[0] is an absolute path */
    char **environment; /* "NAME=value" */
    uint64_t timeout_ms;
};

enum secret_outcome {
    SECRET_OUTCOME_VALUE,
    SECRET_OUTCOME_NOT_STARTED, /* detail: errno */
    SECRET_OUTCOME_STATUS,      /* detail: its exit status, not 0 */
    SECRET_OUTCOME_SIGNAL,      /* detail: its number */
    SECRET_OUTCOME_TIMEOUT,
    SECRET_OUTCOME_TOO_LARGE,
    SECRET_OUTCOME_FAULT, /* of the helper; detail: errno */
    SECRET_OUTCOME_COUNT
};

/* Head of a reply; the value is behind it. */
struct secret_reply {
    enum secret_outcome outcome;
    uint32_t detail;
    size_t length; /* of the value, 0 but for SECRET_OUTCOME_VALUE */
};

/* A new message, NULL when out of memory or longer than the limit; the caller wipes and frees it.
 */
unsigned char *secret_order_encode(const struct secret_order *order, size_t *ret_length);
/* On success *ret owns copies (secret_order_clear()); an argv without an absolute path is refused.
 */
bool secret_order_decode(const unsigned char *message, size_t length, struct secret_order *ret);
void secret_order_clear(struct secret_order *order);

void secret_reply_encode(const struct secret_reply *reply, unsigned char ret[SECRET_REPLY_HEADER]);
/* length is of the whole datagram. */
bool secret_reply_decode(const unsigned char *message, size_t length, struct secret_reply *ret);
