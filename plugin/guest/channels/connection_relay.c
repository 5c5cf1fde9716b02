/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the frames and windows of connections over one stream: see connection_relay.h. Runs in the
 * guest and in the broker of endpoints. */
#include "guest/channels/connection_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "protocol/wire.h"

/* A frame for less would cost short answers more than they do. */
#define WORTH_TELLING (RELAY_WINDOW / 4)

bool relay_init(struct connection_relay *relay)
{
    *relay = (struct connection_relay){.epoll = epoll_create1(EPOLL_CLOEXEC), .next_number = 1};
    for (size_t i = 0; i < RELAY_CONNECTIONS; i++)
        relay->connections[i].fd = -1;
    return relay->epoll >= 0;
}

static void drop(struct relay_connection *connection)
{
    close_fd(TAKE_FD(connection->fd));
    free(connection->waiting);
    *connection = (struct relay_connection){.fd = -1};
}

void relay_clear(struct connection_relay *relay)
{
    for (size_t i = 0; i < RELAY_CONNECTIONS; i++)
        drop(&relay->connections[i]);
    close_fd(TAKE_FD(relay->epoll));
}

/* One whose end is still to be told keeps its place. */
static bool is_free(const struct relay_connection *connection)
{
    return connection->fd < 0 && !connection->reset_due;
}

static struct relay_connection *find_place(struct connection_relay *relay)
{
    for (size_t i = 0; i < RELAY_CONNECTIONS; i++)
        if (is_free(&relay->connections[i]))
            return &relay->connections[i];
    return NULL;
}

bool relay_has_place(const struct connection_relay *relay)
{
    size_t count = 0;
    for (size_t i = 0; i < RELAY_CONNECTIONS; i++)
        count += !is_free(&relay->connections[i]);
    return count < RELAY_ACCEPTED;
}

static struct relay_connection *find(struct connection_relay *relay, uint32_t number)
{
    for (size_t i = 0; i < RELAY_CONNECTIONS; i++)
        if (relay->connections[i].fd >= 0 && relay->connections[i].number == number)
            return &relay->connections[i];
    return NULL;
}

/* Gone here; the other side is still to hear of it. */
static void reset(struct relay_connection *connection)
{
    uint32_t number = connection->number;
    drop(connection);
    connection->number = number;
    connection->reset_due = true;
}

void relay_reset_all(struct connection_relay *relay)
{
    for (size_t i = 0; i < RELAY_CONNECTIONS; i++)
        if (relay->connections[i].fd >= 0)
            reset(&relay->connections[i]);
}

/* Owns fd from now on, in any case. */
static bool begin(struct connection_relay *relay, struct relay_connection *connection, int fd,
                  uint32_t number)
{
    size_t place = (size_t)(connection - relay->connections);
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
        .data.u64 = (uint64_t)place << 32 | number,
    };
    *connection = (struct relay_connection){
        .fd = fd, .number = number, .allowance = RELAY_WINDOW, .readable = true};
    return fcntl(fd, F_SETFL, O_NONBLOCK) == 0 &&
           epoll_ctl(relay->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

void relay_add(struct connection_relay *relay, int fd)
{
    struct relay_connection *connection = find_place(relay);
    if (!connection) {
        close_fd(fd);
        return;
    }
    if (begin(relay, connection, fd, relay->next_number++))
        connection->open_due = true;
    else
        drop(connection);
}

static bool may_read(const struct relay_connection *connection)
{
    return connection->fd >= 0 && connection->readable && !connection->has_ended &&
           connection->allowance > 0;
}

/* The other side's number, whose place it chose. */
static bool take_open(struct connection_relay *relay)
{
    struct relay_connection *connection = find_place(relay);
    int pair[2];
    if (!relay->opened || !connection || find(relay, relay->number))
        return false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        connection->number = relay->number;
        connection->reset_due = true;
        return true;
    }
    bool begun = begin(relay, connection, pair[0], relay->number);
    if (!begun)
        close_fd(pair[1]);
    if (!begun || !relay->opened(relay->user, pair[1]))
        reset(connection);
    return true;
}

static bool take_allowance(const struct connection_relay *relay,
                           struct relay_connection *connection)
{
    struct wire_reader reader = {.bytes = relay->payload, .length = sizeof(relay->payload)};
    uint32_t count = wire_get_u32(&reader);
    if (count > RELAY_WINDOW - connection->allowance)
        return false;
    connection->allowance += count;
    return true;
}

static void finish_if_over(struct relay_connection *connection)
{
    if (connection->has_ended && !connection->end_due && connection->shut)
        drop(connection);
}

/* Its payload is taken. A connection that is not there any more was closed here meanwhile. */
static bool take_frame(struct connection_relay *relay)
{
    struct relay_connection *connection = find(relay, relay->number);
    relay->header_length = 0;
    if (relay->kind == RELAY_OPEN)
        return take_open(relay);
    if (!connection)
        return true;
    if (relay->kind == RELAY_TAKEN)
        return take_allowance(relay, connection);
    if (relay->kind == RELAY_END)
        connection->peer_ended = true;
    if (relay->kind == RELAY_RESET)
        drop(connection);
    return true;
}

static bool take_header(struct connection_relay *relay)
{
    struct wire_reader reader = {.bytes = relay->header, .length = sizeof(relay->header)};
    relay->left = wire_get_u32(&reader);
    relay->kind = relay->header[sizeof(uint32_t)];
    reader.offset++;
    relay->number = wire_get_u32(&reader);
    uint32_t most = relay->kind == RELAY_DATA ? RELAY_DATA_LIMIT : 0;
    uint32_t least = relay->kind == RELAY_DATA ? 1 : 0;
    if (relay->kind == RELAY_TAKEN)
        most = least = sizeof(relay->payload);
    return relay->kind > 0 && relay->kind < RELAY_FRAME_END && relay->left >= least &&
           relay->left <= most;
}

/* false: more than the window has room for, or behind the end. */
static bool keep(struct relay_connection *connection, const unsigned char *bytes, size_t length)
{
    if (connection->peer_ended || length > RELAY_WINDOW - connection->length)
        return false;
    if (!connection->waiting)
        connection->waiting = malloc(RELAY_WINDOW);
    if (!connection->waiting) {
        reset(connection);
        return true;
    }
    if (RELAY_WINDOW - connection->begin - connection->length < length) {
        memmove(connection->waiting, connection->waiting + connection->begin, connection->length);
        connection->begin = 0;
    }
    memcpy(connection->waiting + connection->begin + connection->length, bytes, length);
    connection->length += length;
    return true;
}

/* Some of the payload under way; returns how much, 0 where it is refused. */
static size_t take_payload(struct connection_relay *relay, const unsigned char *bytes,
                           size_t length)
{
    size_t count = length < relay->left ? length : relay->left;
    struct relay_connection *connection = find(relay, relay->number);
    if (relay->kind == RELAY_TAKEN)
        memcpy(relay->payload + sizeof(relay->payload) - relay->left, bytes, count);
    else if (connection && !keep(connection, bytes, count))
        return 0;
    relay->left -= (uint32_t)count;
    return count;
}

static size_t take_some(struct connection_relay *relay, const unsigned char *bytes, size_t length)
{
    if (relay->header_length == RELAY_HEADER)
        return take_payload(relay, bytes, length);
    size_t missing = RELAY_HEADER - relay->header_length;
    size_t count = length < missing ? length : missing;
    memcpy(relay->header + relay->header_length, bytes, count);
    relay->header_length += count;
    return relay->header_length < RELAY_HEADER || take_header(relay) ? count : 0;
}

/* No signal of a broken pipe. */
static void write_socket(struct relay_connection *connection)
{
    while (connection->length > 0) {
        ssize_t count = send(connection->fd, connection->waiting + connection->begin,
                             connection->length, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            return;
        if (count < 0) {
            reset(connection);
            return;
        }
        connection->begin += (size_t)count;
        connection->length -= (size_t)count;
        connection->taken += (uint32_t)count;
    }
    connection->begin = 0;
    if (connection->peer_ended && !connection->shut) {
        (void)shutdown(connection->fd, SHUT_WR);
        connection->shut = true;
    }
    finish_if_over(connection);
}

static void write_sockets(struct connection_relay *relay)
{
    for (size_t i = 0; i < RELAY_CONNECTIONS; i++)
        if (relay->connections[i].fd >= 0)
            write_socket(&relay->connections[i]);
}

void relay_serve(struct connection_relay *relay)
{
    struct epoll_event events[RELAY_CONNECTIONS];
    int count = epoll_wait(relay->epoll, events, RELAY_CONNECTIONS, 0);
    for (int i = 0; i < count; i++) {
        struct relay_connection *connection =
            &relay->connections[(size_t)(events[i].data.u64 >> 32)];
        if (connection->fd < 0 || connection->number != (uint32_t)events[i].data.u64)
            continue;
        connection->readable |= (events[i].events & ~(uint32_t)EPOLLOUT) != 0;
        write_socket(connection);
    }
}

bool relay_take(struct connection_relay *relay, const unsigned char *bytes, size_t length)
{
    while (length > 0 && !relay->broken) {
        size_t count = take_some(relay, bytes, length);
        bytes += count;
        length -= count;
        bool is_whole = relay->header_length == RELAY_HEADER && relay->left == 0;
        relay->broken = count == 0 || (is_whole && !take_frame(relay));
    }
    write_sockets(relay);
    return !relay->broken;
}

static void put_header(struct wire_writer *writer, enum relay_frame kind, uint32_t number,
                       uint32_t length)
{
    const unsigned char byte = (unsigned char)kind;
    wire_put_u32(writer, length);
    wire_put_raw(writer, &byte, sizeof(byte));
    wire_put_u32(writer, number);
}

static size_t room(const struct wire_writer *writer)
{
    return writer->limit - writer->length;
}

/* Words of it that go ahead of its bytes. */
static void put_words(struct wire_writer *writer, struct relay_connection *connection)
{
    if (connection->open_due && room(writer) >= RELAY_HEADER) {
        put_header(writer, RELAY_OPEN, connection->number, 0);
        connection->open_due = false;
    }
    if (connection->taken >= WORTH_TELLING && room(writer) >= RELAY_HEADER + sizeof(uint32_t)) {
        put_header(writer, RELAY_TAKEN, connection->number, sizeof(uint32_t));
        wire_put_u32(writer, connection->taken);
        connection->taken = 0;
    }
}

static void put_end(struct wire_writer *writer, struct relay_connection *connection)
{
    if (!connection->end_due || room(writer) < RELAY_HEADER)
        return;
    put_header(writer, RELAY_END, connection->number, 0);
    connection->end_due = false;
    finish_if_over(connection);
}

/* One read of the socket, as a frame. */
static void put_data(struct wire_writer *writer, struct relay_connection *connection)
{
    unsigned char *payload = writer->bytes + writer->length + RELAY_HEADER;
    size_t most =
        RELAY_DATA_LIMIT < connection->allowance ? RELAY_DATA_LIMIT : connection->allowance;
    if (!may_read(connection) || room(writer) < RELAY_HEADER + most)
        return;
    ssize_t count = recv(connection->fd, payload, most, MSG_DONTWAIT);
    if (count > 0) {
        put_header(writer, RELAY_DATA, connection->number, (uint32_t)count);
        writer->length += (size_t)count;
        connection->allowance -= (uint32_t)count;
    } else if (count == 0) {
        connection->has_ended = connection->end_due = true;
    } else if (errno == EAGAIN) {
        connection->readable = false;
    } else if (errno != EINTR) {
        reset(connection);
    }
}

static void put_connection(struct wire_writer *writer, struct relay_connection *connection)
{
    if (connection->fd >= 0)
        put_words(writer, connection);
    if (connection->fd >= 0 && !connection->open_due)
        put_data(writer, connection);
    if (connection->fd >= 0)
        put_end(writer, connection);
    if (connection->reset_due && room(writer) >= RELAY_HEADER) {
        put_header(writer, RELAY_RESET, connection->number, 0);
        *connection = (struct relay_connection){.fd = -1};
    }
}

size_t relay_give(struct connection_relay *relay, unsigned char *bytes, size_t capacity)
{
    struct wire_writer writer = {.bytes = bytes, .capacity = capacity, .limit = capacity};
    for (size_t i = 0; i < RELAY_CONNECTIONS; i++)
        put_connection(&writer, &relay->connections[(relay->first + i) % RELAY_CONNECTIONS]);
    relay->first = (relay->first + 1) % RELAY_CONNECTIONS;
    return writer.length;
}
