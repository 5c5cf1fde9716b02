/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the way from a socket to a guest: see socket_sender.h. Runs in a backend of containers. */
#include "backends/guest_runs/container/socket_sender.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "guest/messages/guest_protocol.h"

#define ORDER_HEADER (1 + sizeof(uint32_t))

_Static_assert(GUEST_ENDPOINTS_LIMIT <= GUEST_ANSWERS_LIMIT, "the room of an order");

bool socket_sender_open(struct socket_sender *sender, char kind, int socket)
{
    CLEANUP_CLOSE int copy = fcntl(socket, F_DUPFD_CLOEXEC, 0);
    unsigned char *order =
        sender->order ? sender->order : malloc(ORDER_HEADER + GUEST_ANSWERS_LIMIT);
    if (copy < 0 || !order) {
        if (order != sender->order)
            free(order);
        return false;
    }
    if (sender->order)
        close_fd(sender->socket);
    sender->order = order;
    sender->kind = kind;
    sender->socket = TAKE_FD(copy);
    sender->ended = false;
    return true;
}

void socket_sender_end(struct socket_sender *sender)
{
    if (sender->order)
        close_fd(TAKE_FD(sender->socket));
    sender->ended = true;
}

void socket_sender_close(struct socket_sender *sender)
{
    if (!sender->order)
        return;
    explicit_bzero(sender->order, ORDER_HEADER + GUEST_ANSWERS_LIMIT);
    free(sender->order);
    close_fd(sender->socket);
    *sender = (struct socket_sender){.order = NULL};
}

static uint32_t room(const struct socket_sender *sender)
{
    uint32_t left = GUEST_ANSWERS_ROOM - sender->in_guest;
    if (sender->kind == GUEST_ORDER_ENDPOINTS)
        return GUEST_ENDPOINTS_LIMIT;
    return left < GUEST_ANSWERS_LIMIT ? left : GUEST_ANSWERS_LIMIT;
}

bool socket_sender_is_busy(const struct socket_sender *sender)
{
    return sender->begin < sender->end;
}

int socket_sender_socket(const struct socket_sender *sender)
{
    bool wants =
        sender->order && !sender->ended && !socket_sender_is_busy(sender) && room(sender) > 0;
    return wants ? sender->socket : -1;
}

/* A length of 0 is the end. */
static void begin_order(struct socket_sender *sender, size_t length)
{
    struct wire_writer writer = {
        .bytes = sender->order + 1, .capacity = sizeof(uint32_t), .limit = sizeof(uint32_t)};
    sender->order[0] = (unsigned char)sender->kind;
    wire_put_u32(&writer, (uint32_t)length);
    sender->begin = 0;
    sender->end = ORDER_HEADER + length;
    sender->in_guest += sender->kind == GUEST_ORDER_ANSWERS ? (uint32_t)length : 0;
    sender->ended = length == 0;
}

bool socket_sender_fill(struct socket_sender *sender)
{
    int socket = socket_sender_socket(sender);
    if (socket < 0)
        return false;
    ssize_t count = recv(socket, sender->order + ORDER_HEADER, room(sender), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    begin_order(sender, count > 0 ? (size_t)count : 0);
    return true;
}

struct message_piece socket_sender_rest(const struct socket_sender *sender)
{
    return (struct message_piece){sender->order + sender->begin, sender->end - sender->begin};
}

void socket_sender_take(struct socket_sender *sender, size_t count)
{
    sender->begin += count;
}

void socket_sender_stop(struct socket_sender *sender)
{
    sender->begin = sender->end = 0;
    sender->ended = true;
}

bool socket_sender_told(struct socket_sender *sender, uint32_t count)
{
    if (count > sender->in_guest)
        return false;
    sender->in_guest -= count;
    return true;
}
