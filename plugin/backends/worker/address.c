/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the grammar of addresses, and the sockets that listen: see address.h. */
#include "backends/worker/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define BACKLOG 128

/* Digits alone, 65535 at most. */
static bool parse_port(const char *text, uint16_t *ret)
{
    unsigned long number = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] != '\0')
        return false;
    for (const char *digit = text; *digit != '\0'; digit++)
        number = number * 10 + (unsigned long)(*digit - '0');
    *ret = (uint16_t)number;
    return number <= UINT16_MAX;
}

static bool parse_v4(const char *host, uint16_t port, struct listen_address *ret)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET, host, &v4.sin_addr) != 1)
        return false;
    ret->length = sizeof(v4);
    memcpy(&ret->address, &v4, sizeof(v4));
    return true;
}

static bool parse_v6(const char *host, uint16_t port, struct listen_address *ret)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    if (inet_pton(AF_INET6, host, &v6.sin6_addr) != 1)
        return false;
    ret->length = sizeof(v6);
    memcpy(&ret->address, &v6, sizeof(v6));
    return true;
}

bool listen_address_parse(const char *text, struct listen_address *ret)
{
    char host[INET6_ADDRSTRLEN];
    const char *colon = strrchr(text, ':');
    uint16_t port = 0;
    if (!colon || !parse_port(colon + 1, &port))
        return false;
    bool in_brackets = text[0] == '[' && colon > text && colon[-1] == ']';
    const char *begin = in_brackets ? text + 1 : text;
    size_t length = (size_t)(colon - begin) - (in_brackets ? 1 : 0);
    if (length >= sizeof(host))
        return false;
    memcpy(host, begin, length);
    host[length] = '\0';
    struct listen_address address = {.length = 0};
    if (in_brackets ? !parse_v6(host, port, &address) : !parse_v4(host, port, &address))
        return false;
    *ret = address;
    return true;
}

int listen_address_open(const char *text, struct error *error)
{
    struct listen_address address;
    const int on = 1;
    if (!listen_address_parse(text, &address))
        return error_set(error, ERROR_BACKEND_UNAVAILABLE, "%s is no address with a port", text);
    CLEANUP_CLOSE int listener =
        socket(address.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(listener, (const struct sockaddr *)&address.address, address.length) < 0 ||
        listen(listener, BACKLOG) < 0)
        return error_set_errno(error, ERROR_BACKEND_UNAVAILABLE, errno, "cannot listen on %s",
                               text);
    return TAKE_FD(listener);
}

void socket_address_write(const struct sockaddr_storage *address, char *text, socklen_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    memcpy(&v4, address, sizeof(v4));
    memcpy(&v6, address, sizeof(v6));
    text[0] = '\0';
    if (address->ss_family == AF_INET && inet_ntop(AF_INET, &v4.sin_addr, host, sizeof(host)))
        (void)snprintf(text, size, "%s:%u", host, (unsigned)ntohs(v4.sin_port));
    if (address->ss_family == AF_INET6 && inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host)))
        (void)snprintf(text, size, "[%s]:%u", host, (unsigned)ntohs(v6.sin6_port));
}

void listening_address_write(int listener, char *text, socklen_t size)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof(address);
    (void)getsockname(listener, (struct sockaddr *)&address, &length);
    socket_address_write(&address, text, size);
}
