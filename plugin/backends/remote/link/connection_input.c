/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the bytes that come over a connection, and the frames that are the connection's own: see
 * connection.h. Runs in code-execute-remote and code-execute-worker. */
#include <errno.h>
#include <openssl/err.h>
#include <string.h>

#include "backends/remote/link/connection_private.h"
#include "protocol/run_event.h"

static bool versions_differ(struct connection *connection, const struct remote_hello *peer)
{
    const struct remote_hello *gateway = connection->is_server ? peer : &connection->self;
    const struct remote_hello *worker = connection->is_server ? &connection->self : peer;
    (void)connection_break(connection,
                           "the gateway speaks version %u.%u, and the worker speaks %u.%u",
                           gateway->link_version, gateway->protocol_version, worker->link_version,
                           worker->protocol_version);
    error_set_hint(&connection->error, "install the same version of code-execute on both machines");
    return false;
}

static bool take_hello(struct connection *connection, const unsigned char *payload, size_t length)
{
    struct remote_hello peer;
    if (!remote_hello_decode(payload, length, &peer))
        return connection_break(connection, "the other side is no code-execute");
    if (peer.link_version != connection->self.link_version ||
        peer.protocol_version != connection->self.protocol_version)
        return versions_differ(connection, &peer);
    connection->phase = PHASE_READY;
    if (connection->handler->ready)
        connection->handler->ready(connection->user, &peer);
    return !connection->is_over;
}

/* People see it, so bytes that are no plain text are left out. */
static bool take_bye(struct connection *connection, const unsigned char *payload, size_t length)
{
    char reason[REMOTE_REASON_LIMIT + 1];
    size_t count = length < REMOTE_REASON_LIMIT ? length : REMOTE_REASON_LIMIT;
    memset(reason, '?', count);
    for (size_t i = 0; i < count; i++)
        if (payload[i] >= ' ' && payload[i] < 0x7f)
            reason[i] = (char)payload[i];
    reason[count] = '\0';
    (void)error_set(&connection->error,
                    connection->phase == PHASE_READY ? ERROR_BACKEND_FAILED
                                                     : ERROR_BACKEND_UNAVAILABLE,
                    "the %s has ended the connection: %s",
                    connection->is_server ? "gateway" : "worker", reason);
    connection->is_over = true;
    return false;
}

static bool take_frame(struct connection *connection, const struct remote_header *header,
                       unsigned char *payload)
{
    connection->received_us = connection->now_us;
    connection->has_pinged = false;
    if (header->kind == REMOTE_BYE)
        return take_bye(connection, payload, header->length);
    if ((header->kind == REMOTE_HELLO) != (connection->phase == PHASE_GREETING))
        return connection_break(connection, "a greeting that is out of turn");
    if (header->kind == REMOTE_HELLO)
        return take_hello(connection, payload, header->length);
    if (header->kind == REMOTE_PING)
        connection_put(connection, REMOTE_PONG, 0, NULL, 0);
    if (header->kind == REMOTE_PING || header->kind == REMOTE_PONG)
        return !connection->is_over;
    return connection->handler->frame(connection->user, header, payload) && !connection->is_over;
}

/* All frames that are whole. */
static bool take_frames(struct connection *connection)
{
    size_t at = 0;
    while (connection->input_length - at >= REMOTE_HEADER) {
        struct remote_header header;
        if (!remote_header_read(connection->input + at, &header))
            return connection_break(connection, "a frame that is none");
        if (connection->input_length - at - REMOTE_HEADER < header.length)
            break;
        if (!take_frame(connection, &header, connection->input + at + REMOTE_HEADER))
            return false;
        at += REMOTE_HEADER + header.length;
    }
    connection->input_length -= at;
    if (at > 0 && connection->input_length > 0)
        memmove(connection->input, connection->input + at, connection->input_length);
    explicit_bzero(connection->input + connection->input_length, at);
    return true;
}

bool connection_read(struct connection *connection, int records)
{
    for (int i = 0; i < records; i++) {
        size_t count = 0;
        ERR_clear_error();
        errno = 0;
        int result = SSL_read_ex(connection->ssl, connection->input + connection->input_length,
                                 CONNECTION_INPUT - connection->input_length, &count);
        if (result != 1) {
            int reason = SSL_get_error(connection->ssl, result);
            return reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE ||
                   connection_fail_tls(connection, result);
        }
        connection->input_length += count;
        if (!take_frames(connection))
            return false;
    }
    connection->has_more = true;
    return true;
}
