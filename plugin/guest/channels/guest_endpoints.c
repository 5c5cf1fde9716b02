/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the listener of endpoints and its connections: see guest_endpoints.h. Runs in the guest. */
#include "guest/channels/guest_endpoints.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/channels/connection_relay.h"
#include "guest/messages/guest_input.h"
#include "guest/messages/guest_output.h"
#include "guest/messages/guest_protocol.h"

static struct {
    bool is_open;
    int listener;
    struct connection_relay relay;
    uint32_t coming; /* of the order under way */
} endpoints = {.listener = -1, .relay = {.epoll = -1}};

static int make_listener(void)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(RUN_ENDPOINTS_PORT),
                                        .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    CLEANUP_CLOSE int listener =
        socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    if (listener < 0 || bind(listener, (const void *)&address, sizeof(address)) != 0 ||
        listen(listener, RELAY_ACCEPTED) != 0)
        return -1;
    return TAKE_FD(listener);
}

bool endpoints_open(void)
{
    endpoints.is_open = relay_init(&endpoints.relay);
    endpoints.listener = endpoints.is_open ? make_listener() : -1;
    return endpoints.listener >= 0;
}

void endpoints_close(void)
{
    if (!endpoints.is_open)
        return;
    close_fd(TAKE_FD(endpoints.listener));
    relay_clear(&endpoints.relay);
    endpoints.is_open = false;
}

int endpoints_listener(void)
{
    return endpoints.is_open && relay_has_place(&endpoints.relay) ? endpoints.listener : -1;
}

int endpoints_events(void)
{
    return endpoints.is_open ? endpoints.relay.epoll : -1;
}

/* A client would wait for the rest of what is sent in two pieces (Nagle's algorithm). */
static void take_connections(void)
{
    const int on = 1;
    while (relay_has_place(&endpoints.relay)) {
        int fd = accept4(endpoints.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        relay_add(&endpoints.relay, fd);
    }
}

void endpoints_serve(void)
{
    if (!endpoints.is_open)
        return;
    take_connections();
    relay_serve(&endpoints.relay);
}

void endpoints_flush(void)
{
    static unsigned char frames[GUEST_DATA_LIMIT];
    while (endpoints.is_open && output_has_room()) {
        size_t length = relay_give(&endpoints.relay, frames, sizeof(frames));
        if (length == 0)
            return;
        output_put(GUEST_ENDPOINTS, frames, length);
    }
}

/* A length of 0: the broker is gone. */
void endpoints_take_order(void)
{
    endpoints.coming = input_take_number();
    if (endpoints.coming > GUEST_ENDPOINTS_LIMIT)
        _exit(1);
    if (endpoints.coming == 0)
        endpoints_close();
}

bool endpoints_are_coming(void)
{
    return endpoints.coming > 0;
}

void endpoints_take_more(void)
{
    static unsigned char bytes[GUEST_ENDPOINTS_LIMIT];
    size_t count = input_take_some(bytes, endpoints.coming);
    endpoints.coming -= (uint32_t)count;
    if (endpoints.is_open && !relay_take(&endpoints.relay, bytes, count))
        _exit(1);
}
