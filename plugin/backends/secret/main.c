/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code-execute-secret, the helper program that runs one command of the policy's secret providers:
 * takes one order, gives one reply, and ends. The gateway starts it like a backend (control.h);
 * single-threaded. The command's output is in locked memory that is not dumped, and is wiped.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/common/control.h"
#include "backends/secret/command.h"
#include "base/cleanup.h"
#include "base/locked_memory.h"
#include "protocol/channel.h"
#include "protocol/orders/secret_order.h"
#include "protocol/run_event.h"

/* Holds the order, is wiped, then holds the value. */
#define ROOM \
    (SECRET_ORDER_LIMIT > SECRET_REPLY_LIMIT + 1 ? SECRET_ORDER_LIMIT : SECRET_REPLY_LIMIT + 1)

static bool say_hello(void)
{
    const struct backend_hello hello = {.protocol_version = PROTOCOL_VERSION, .pid = getpid()};
    return channel_send(BACKEND_CONTROL_FD, &hello, sizeof(hello), NULL, 0) == 0;
}

/* false where the gateway has gone, or has sent something else. */
static bool receive_order(int host, const struct locked_memory *room, struct secret_order *ret)
{
    struct pollfd entries[] = {
        {.fd = BACKEND_CONTROL_FD, .events = POLLIN},
        {.fd = host, .events = POLLIN},
    };
    int ready;
    do
        ready = poll(entries, COUNT_OF(entries), -1);
    while (ready < 0 && errno == EINTR);
    if (ready < 0 || !entries[0].revents)
        return false;
    size_t fd_count = 0;
    ssize_t length =
        channel_receive(BACKEND_CONTROL_FD, room->bytes, SECRET_ORDER_LIMIT, NULL, 0, &fd_count);
    return length > 0 && secret_order_decode(room->bytes, (size_t)length, ret);
}

int main(void)
{
    CLEANUP_CLOSE int host = backend_enter();
    CLEANUP(locked_memory_clear) struct locked_memory room = {0};
    CLEANUP(secret_order_clear) struct secret_order order = {0};
    if (host < 0 || locked_memory_get(ROOM, &room) < 0 || !say_hello() ||
        !receive_order(host, &room, &order))
        return 1;
    explicit_bzero(room.bytes, room.capacity);
    const struct command_watch watch = {.control = BACKEND_CONTROL_FD, .host = host};
    struct secret_reply reply;
    command_run(&order, &watch, room.bytes + SECRET_REPLY_HEADER,
                SECRET_REPLY_LIMIT - SECRET_REPLY_HEADER + 1, &reply);
    secret_reply_encode(&reply, room.bytes);
    return channel_send(BACKEND_CONTROL_FD, room.bytes, SECRET_REPLY_HEADER + reply.length, NULL,
                        0) != 0;
}
