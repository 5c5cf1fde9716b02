/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a connection, between connection.c and connection_input.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "backends/remote/link/connection.h"
#include "backends/remote/link/output_buffer.h"
#include "backends/remote/link/tls_private.h"

#define CONNECTION_INPUT (REMOTE_HEADER + REMOTE_PAYLOAD_LIMIT + CONNECTION_RECORD)
/* Beyond it nothing more is read from local descriptors ... */
#define CONNECTION_BULK 131072
/* ... and beyond it the other side does not read: the waiting frames are answers to its own. */
#define CONNECTION_OUTPUT (UINT32_C(8) << 20)

enum connection_phase { PHASE_CONNECTING, PHASE_HANDSHAKE, PHASE_GREETING, PHASE_READY };

struct connection {
    int fd;
    SSL *ssl;
    struct tls_refusal refusal;
    bool is_server;
    char **names; /* owned */
    size_t name_count;
    const char *peer_name; /* one of them */
    struct remote_hello self;
    const struct connection_handler *handler;
    void *user;
    enum connection_phase phase;
    bool is_over;
    struct error error;
    uint64_t begun_us, received_us, now_us;
    bool has_pinged; /* since the last frame of the other side's */
    bool has_more;   /* bytes of the other side's, which wait for the next turn */
    bool cannot_write;
    int write_error;
    unsigned char *input; /* CONNECTION_INPUT bytes, owned */
    size_t input_length;
    struct output_buffer output;
    uint64_t added, written, sent;
};

static inline uint64_t monotonic_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Reads at most so many records, and gives out the frames. false: it is over. */
bool connection_read(struct connection *connection, int records);
/* Ends the connection with OpenSSL's error for that result. Always false. */
bool connection_fail_tls(struct connection *connection, int result);
