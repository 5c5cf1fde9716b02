/* SPDX-License-Identifier: Apache-2.0 */
/* Answers collectors. The metrics thread; opening: main thread. */
#include "metrics/metrics_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/number.h"

#define BACKLOG      4
#define CLIENT_MS    1000
#define PAUSE_MS     100
#define HEAD_LIMIT   4096u
#define HIGHEST_PORT 65535u

static const char begin_v4[] = "127.0.0.1:";
static const char begin_v6[] = "[::1]:";

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t length;
};

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* false: it is none of the two that only this machine can reach. */
static bool parse_address(const char *text, struct address *ret)
{
    bool is_v6 = begins_with(text, begin_v6);
    uint64_t port = 0;
    if (!is_v6 && !begins_with(text, begin_v4))
        return false;
    const char *digits = text + strlen(is_v6 ? begin_v6 : begin_v4);
    if (!number_parse(digits, HIGHEST_PORT, &port) || port == 0)
        return false;
    *ret = (struct address){.length = is_v6 ? sizeof(ret->v6) : sizeof(ret->v4)};
    if (is_v6)
        ret->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
                                        .sin6_port = htons((uint16_t)port),
                                        .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    else
        ret->v4 = (struct sockaddr_in){.sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)port),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return true;
}

bool metrics_http_open(const char *address, int *ret_fd, struct failure *failure)
{
    static const int yes = 1;
    struct address place;
    if (!parse_address(address, &place))
        return failure_usage(
            failure, "--metrics-listen must be 127.0.0.1:PORT or [::1]:PORT, not %s", address);
    CLEANUP_CLOSE int fd =
        socket(place.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return failure_set_errno(failure, "internal", errno, "no socket");
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
        bind(fd, &place.any, place.length) < 0 || listen(fd, BACKLOG) < 0)
        return failure_set_errno(failure, "internal", errno, "cannot listen on %s", address);
    *ret_fd = TAKE_FD(fd);
    return true;
}

/* false: not until then. */
static bool wait_for_event(int fd, short what, uint64_t deadline)
{
    struct pollfd event = {.fd = fd, .events = what};
    int ready = 0;
    do {
        ready = poll(&event, 1, deadline_poll_timeout(deadline));
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

/* Up to the empty line; a body that follows is not looked at. */
static bool read_head(int fd, char head[HEAD_LIMIT], uint64_t deadline)
{
    size_t length = 0;
    head[0] = '\0';
    while (!strstr(head, "\r\n\r\n")) {
        if (length + 1 >= HEAD_LIMIT || !wait_for_event(fd, POLLIN, deadline))
            return false;
        ssize_t got = recv(fd, head + length, HEAD_LIMIT - 1 - length, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        length += got > 0 ? (size_t)got : 0;
        head[length] = '\0';
    }
    return strlen(head) == length;
}

static void send_all(int fd, const char *bytes, size_t length, uint64_t deadline)
{
    while (length > 0 && wait_for_event(fd, POLLOUT, deadline)) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return;
        bytes += sent > 0 ? sent : 0;
        length -= sent > 0 ? (size_t)sent : 0;
    }
}

static void send_response(int fd, const char *status, const char *text, size_t length,
                          uint64_t deadline)
{
    char head[256];
    int head_length = snprintf(head, sizeof(head),
                               "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4\r\n"
                               "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                               status, length);
    send_all(fd, head, (size_t)head_length, deadline);
    send_all(fd, text, length, deadline);
}

/* Against DNS rebinding: a web page can have its own name resolve to this machine and read the
 * answer. Its request carries that name. */
static bool host_is_local(const char *head)
{
    static const char *const names[] = {"127.0.0.1", "[::1]", "localhost"};
    const char *host = strcasestr(head, "\r\nHost:");
    if (!host)
        return true;
    host += strlen("\r\nHost:");
    host += strspn(host, " \t");
    size_t length = strcspn(host, " \t\r");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t name = strlen(names[i]);
        if (length >= name && strncasecmp(host, names[i], name) == 0 &&
            (length == name || host[name] == ':'))
            return true;
    }
    return false;
}

static const char *refusal_of(const char *head)
{
    if (!begins_with(head, "GET "))
        return "405 Method Not Allowed";
    if (!begins_with(head, "GET /metrics HTTP/1."))
        return "404 Not Found";
    return host_is_local(head) ? NULL : "403 Forbidden";
}

void metrics_http_serve(int listener, char *(*make)(void *user, size_t *ret_length), void *user)
{
    char head[HEAD_LIMIT];
    uint64_t deadline = monotonic_ms() + CLIENT_MS;
    CLEANUP_CLOSE int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && errno != EAGAIN)
        (void)poll(NULL, 0, PAUSE_MS); /* without descriptors it would be tried again at once */
    if (fd < 0 || !read_head(fd, head, deadline))
        return;
    const char *refusal = refusal_of(head);
    size_t length = 0;
    CLEANUP_FREE char *text = refusal ? NULL : make(user, &length);
    if (!refusal && !text)
        refusal = "503 Service Unavailable";
    send_response(fd, refusal ? refusal : "200 OK", text ? text : "", text ? length : 0, deadline);
}
