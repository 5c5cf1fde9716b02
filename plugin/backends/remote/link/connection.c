/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the TLS of one connection, its greeting and its keep-alive: see connection.h. Runs in
 * code-execute-remote and code-execute-worker. */
#include "backends/remote/link/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#include "backends/remote/link/connection_private.h"
#include "base/cleanup.h"

#define SECOND_US      UINT64_C(1000000)
#define GREETING_US    (10 * SECOND_US) /* from the connection's begin to both greetings */
#define PING_US        (5 * SECOND_US)  /* without a frame of the other side's */
#define SILENCE_US     (15 * SECOND_US)
#define RECORDS_A_TURN 32 /* others of the process have their turn, too */

static const char *other_side(const struct connection *connection)
{
    return connection->is_server ? "gateway" : "worker";
}

static bool copy_names(struct connection *connection, const struct link_peer *peer)
{
    connection->names = calloc(peer->name_count + 1, sizeof(*connection->names));
    for (size_t i = 0; connection->names && i < peer->name_count; i++) {
        connection->names[i] = strdup(peer->names[i]);
        if (!connection->names[i])
            return false;
        connection->name_count++;
    }
    return connection->names != NULL;
}

/* Both fail where it is no TCP, as in tests. */
static void set_socket_options(int fd)
{
    const int yes = 1;
    const unsigned int silence_ms = SILENCE_US / 1000;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof(silence_ms));
}

static bool open_tls(struct connection *connection, struct tls_context *context)
{
    connection->ssl = SSL_new(context->ssl);
    if (!connection->ssl || SSL_set_fd(connection->ssl, connection->fd) != 1 ||
        !tls_set_refusal(connection->ssl, &connection->refusal))
        return false;
    if (connection->is_server)
        SSL_set_accept_state(connection->ssl);
    else
        SSL_set_connect_state(connection->ssl);
    return true;
}

struct connection *connection_new(int fd, struct tls_context *context, bool is_server,
                                  const struct link_peer *peer, const struct remote_hello *self,
                                  const struct connection_handler *handler, void *user)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    if (!connection) {
        close_fd(fd);
        return NULL;
    }
    *connection = (struct connection){
        .fd = fd,
        .is_server = is_server,
        .handler = handler,
        .user = user,
        .self = *self,
        .begun_us = monotonic_us(),
        .input = malloc(CONNECTION_INPUT),
    };
    connection->received_us = connection->begun_us;
    if (!connection->input || fcntl(fd, F_SETFL, O_NONBLOCK) != 0 ||
        !copy_names(connection, peer) || !open_tls(connection, context)) {
        connection_free(connection);
        ERR_clear_error();
        return NULL;
    }
    set_socket_options(fd);
    return connection;
}

void connection_free(struct connection *connection)
{
    if (!connection)
        return;
    SSL_free(connection->ssl);
    close_fd(connection->fd);
    for (size_t i = 0; i < connection->name_count; i++)
        free(connection->names[i]);
    free((void *)connection->names);
    if (connection->input)
        explicit_bzero(connection->input, CONNECTION_INPUT);
    free(connection->input);
    output_buffer_clear(&connection->output);
    free(connection);
}

int connection_fd(const struct connection *connection)
{
    return connection->fd;
}

bool connection_is_ready(const struct connection *connection)
{
    return connection->phase == PHASE_READY && !connection->is_over;
}

bool connection_is_over(const struct connection *connection)
{
    return connection->is_over;
}

const struct error *connection_error(const struct connection *connection)
{
    return &connection->error;
}

const char *connection_peer_name(const struct connection *connection)
{
    return connection->peer_name ? connection->peer_name : "";
}

/* The error is set. */
static bool end(struct connection *connection)
{
    connection->is_over = true;
    if (connection->phase == PHASE_READY)
        connection->error.code = ERROR_BACKEND_FAILED;
    return false;
}

bool connection_fail_tls(struct connection *connection, int result)
{
    int error_number = errno;
    if (connection->is_over)
        return false;
    tls_explain(SSL_get_error(connection->ssl, result), error_number, &connection->refusal,
                connection->is_server, &connection->error);
    return end(connection);
}

bool connection_break(struct connection *connection, const char *format, ...)
{
    char reason[REMOTE_REASON_LIMIT + 1];
    va_list arguments;
    if (connection->is_over)
        return false;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    if (connection->phase >= PHASE_GREETING) {
        connection_put(connection, REMOTE_BYE, 0, reason, strlen(reason));
        (void)connection_flush(connection);
    }
    (void)error_set(&connection->error, ERROR_BACKEND_UNAVAILABLE, "%s", reason);
    return end(connection);
}

static bool fail_memory(struct connection *connection)
{
    (void)error_set(&connection->error, ERROR_BACKEND_UNAVAILABLE,
                    "no memory for the connection, or the %s does not read",
                    other_side(connection));
    return end(connection);
}

unsigned char *connection_room(struct connection *connection, size_t length)
{
    if (connection->is_over)
        return NULL;
    unsigned char *room =
        output_buffer_room(&connection->output, REMOTE_HEADER + length, CONNECTION_OUTPUT);
    if (room)
        return room + REMOTE_HEADER;
    (void)fail_memory(connection);
    return NULL;
}

void connection_commit(struct connection *connection, enum remote_kind kind, uint32_t channel,
                       size_t length)
{
    const struct remote_header header = {(uint32_t)length, kind, channel};
    struct output_buffer *output = &connection->output;
    remote_header_put(output->bytes + output->begin + output->length, &header);
    output_buffer_add(output, REMOTE_HEADER + length);
    connection->added += REMOTE_HEADER + length;
}

void connection_put(struct connection *connection, enum remote_kind kind, uint32_t channel,
                    const void *payload, size_t length)
{
    unsigned char *room = connection_room(connection, length);
    if (!room)
        return;
    if (length > 0)
        memcpy(room, payload, length);
    connection_commit(connection, kind, channel, length);
}

bool connection_wants_more(const struct connection *connection)
{
    return connection->phase == PHASE_READY && !connection->is_over &&
           connection->output.length < CONNECTION_BULK;
}

uint64_t connection_added(const struct connection *connection)
{
    return connection->added;
}

uint64_t connection_sent(const struct connection *connection)
{
    return connection->sent;
}

bool connection_flush(struct connection *connection)
{
    struct output_buffer *output = &connection->output;
    if (connection->phase < PHASE_GREETING)
        return !connection->is_over;
    while (output->length > 0 && !connection->is_over && !connection->cannot_write) {
        size_t count = 0;
        ERR_clear_error();
        size_t most = output->length < CONNECTION_RECORD ? output->length : CONNECTION_RECORD;
        if (connection->sent < connection->written + most)
            connection->sent = connection->written + most;
        errno = 0;
        int result =
            SSL_write_ex(connection->ssl, output->bytes + output->begin, output->length, &count);
        if (result == 1) {
            connection->written += count;
            output_buffer_skip(output, count);
            continue;
        }
        int reason = SSL_get_error(connection->ssl, result);
        if (reason == SSL_ERROR_WANT_WRITE || reason == SSL_ERROR_WANT_READ)
            return true;
        /* Frames that the other side sent before it closed may have the reason, and are read in
         * their turn. */
        connection->write_error = errno;
        connection->cannot_write = true;
        output_buffer_clear(output);
    }
    return !connection->is_over;
}

/* false: not yet, or it is over. */
static bool finish_connect(struct connection *connection)
{
    struct pollfd entry = {.fd = connection->fd, .events = POLLOUT};
    int error_number = 0;
    socklen_t length = sizeof(error_number);
    if (poll(&entry, 1, 0) <= 0)
        return false;
    if (getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &error_number, &length) != 0)
        error_number = errno;
    if (error_number != 0) {
        (void)error_set_errno(&connection->error, ERROR_BACKEND_UNAVAILABLE, error_number,
                              "cannot connect");
        error_set_hint(&connection->error, "start code-execute-worker there, and let its port "
                                           "through; or correct its address");
        return end(connection);
    }
    connection->phase = PHASE_HANDSHAKE;
    return true;
}

static bool check_name(struct connection *connection)
{
    char names[192];
    const char *const *wanted = (const char *const *)connection->names;
    ptrdiff_t match =
        tls_match_name(connection->ssl, wanted, connection->name_count, names, sizeof(names));
    if (match >= 0) {
        connection->peer_name = connection->names[match];
        return true;
    }
    if (connection->is_server) {
        (void)connection_break(connection, "the worker serves no gateway whose certificate has %s",
                               names);
        error_set_hint(&connection->error, "add its name to \"gateways\" of the worker");
    } else {
        (void)connection_break(connection, "the worker's certificate has %s, and not %s", names,
                               connection->name_count > 0 ? wanted[0] : "a name that is allowed");
        error_set_hint(&connection->error,
                       "\"name\" of a worker is the DNS name of its certificate");
    }
    return false;
}

static bool shake_hands(struct connection *connection)
{
    unsigned char greeting[REMOTE_MESSAGE_LIMIT];
    ERR_clear_error();
    errno = 0;
    int result = SSL_do_handshake(connection->ssl);
    if (result != 1) {
        int reason = SSL_get_error(connection->ssl, result);
        return reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE
                   ? connection_fail_tls(connection, result)
                   : false;
    }
    connection->phase = PHASE_GREETING;
    if (!check_name(connection))
        return false;
    connection_put(connection, REMOTE_HELLO, 0, greeting,
                   remote_hello_encode(&connection->self, greeting));
    return true;
}

static bool check_time(struct connection *connection, uint64_t now_us)
{
    if (connection->phase != PHASE_READY && now_us >= connection->begun_us + GREETING_US) {
        static const char *const late[] = {
            [PHASE_CONNECTING] = "no connection came about within 10 s",
            [PHASE_HANDSHAKE] = "the other side has not ended the TLS handshake within 10 s",
            [PHASE_GREETING] = "the other side has not greeted within 10 s",
        };
        return connection_break(connection, "%s", late[connection->phase]);
    }
    if (connection->phase == PHASE_READY && now_us >= connection->received_us + SILENCE_US)
        return connection_break(connection, "the %s has been silent for 15 s",
                                other_side(connection));
    if (connection->phase == PHASE_READY && now_us >= connection->received_us + PING_US &&
        !connection->has_pinged) {
        connection->has_pinged = true;
        connection_put(connection, REMOTE_PING, 0, NULL, 0);
    }
    return true;
}

uint64_t connection_deadline_us(const struct connection *connection)
{
    if (connection->is_over || connection->has_more || connection->cannot_write)
        return 0;
    if (connection->phase != PHASE_READY)
        return connection->begun_us + GREETING_US;
    return connection->received_us + (connection->has_pinged ? SILENCE_US : PING_US);
}

bool connection_receive(struct connection *connection, bool is_ready, uint64_t now_us)
{
    connection->now_us = now_us;
    if (connection->is_over)
        return false;
    if (!is_ready && !connection->has_more && !connection->cannot_write)
        return check_time(connection, now_us);
    connection->has_more = false;
    if (connection->phase == PHASE_CONNECTING)
        (void)finish_connect(connection);
    if (!connection->is_over && connection->phase == PHASE_HANDSHAKE)
        (void)shake_hands(connection);
    if (!connection->is_over && connection->phase >= PHASE_GREETING)
        (void)connection_read(connection, RECORDS_A_TURN);
    if (!connection->is_over && connection->cannot_write && !connection->has_more) {
        (void)error_set_errno(&connection->error, ERROR_BACKEND_UNAVAILABLE,
                              connection->write_error, "the connection is broken");
        return end(connection);
    }
    /* After reading, so that data that arrived while this process was held up counts. */
    return !connection->is_over && check_time(connection, now_us);
}
