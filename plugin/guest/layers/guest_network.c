/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the tries of the network: see guest_layers.h. Runs in the guest. */
#include "guest/layers/guest_layers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/messages/guest_output.h"
#include "guest/messages/guest_protocol.h"

/* Long enough for a lost first packet to be sent again. */
#define TRY_MS          2000
#define PORT_OF_DNS     53
#define PORT_OF_WEB     80
#define PORT_OF_NOTHING 9  /* of a pod: its kernel refuses, which is an answer */
#define HOST_OF_DNS     10 /* of the range of services, by every installer's custom */

struct attempt {
    const char *name;
    bool is_datagram;
    struct sockaddr_storage address;
    socklen_t length; /* 0: its address is not known, and the report does not name it */
    int fd;           /* -1: it is over */
    bool is_answered;
    int error_number; /* 0 and not answered: nothing has come */
};

/* A query for the address of "kubernetes.default.svc.cluster.local"; any answer counts. */
static const char question[] = "\x43\x45\x01\0\0\x01\0\0\0\0\0\0"
                               "\x0akubernetes\x07"
                               "default\x03svc\x07"
                               "cluster\x05local\0\0\x01\0\x01";

static void set_address(struct attempt *attempt, const char *text, uint16_t port)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&attempt->address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&attempt->address;
    if (text && inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        attempt->length = sizeof(*v4);
    } else if (text && inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        attempt->length = sizeof(*v6);
    }
}

/* Its last byte is another one. */
static void set_host(struct attempt *attempt, unsigned char host)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&attempt->address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&attempt->address;
    if (attempt->address.ss_family == AF_INET)
        ((unsigned char *)&v4->sin_addr)[sizeof(v4->sin_addr) - 1] = host;
    else if (attempt->address.ss_family == AF_INET6)
        v6->sin6_addr.s6_addr[sizeof(v6->sin6_addr) - 1] = host;
}

static void end_attempt(struct attempt *attempt, int error_number)
{
    attempt->is_answered = error_number == 0;
    attempt->error_number = error_number;
    close_fd(TAKE_FD(attempt->fd));
}

static void begin_attempt(struct attempt *attempt)
{
    int type = attempt->is_datagram ? SOCK_DGRAM : SOCK_STREAM;
    if (attempt->length == 0)
        return;
    attempt->fd = socket(attempt->address.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (attempt->fd < 0) {
        attempt->error_number = errno;
    } else if (connect(attempt->fd, (struct sockaddr *)&attempt->address, attempt->length) < 0) {
        if (errno != EINPROGRESS)
            end_attempt(attempt, errno);
    } else if (!attempt->is_datagram) {
        end_attempt(attempt, 0);
    } else if (send(attempt->fd, question, sizeof(question) - 1, MSG_NOSIGNAL) < 0) {
        end_attempt(attempt, errno);
    }
}

static void take_answer(struct attempt *attempt)
{
    char answer[64];
    int error_number = 0;
    socklen_t length = sizeof(error_number);
    if (attempt->is_datagram) {
        if (recv(attempt->fd, answer, sizeof(answer), MSG_DONTWAIT) < 0)
            error_number = errno;
        if (error_number == EAGAIN)
            return;
    } else if (getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &error_number, &length) < 0) {
        error_number = errno;
    }
    end_attempt(attempt, error_number);
}

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* false: all have an outcome, or the time is over. */
static bool await_answers(struct attempt *attempts, size_t count, int64_t until_ms)
{
    struct pollfd ready[GUEST_TRIES_MOST];
    int64_t left_ms = until_ms - now_ms();
    bool goes_on = false;
    for (size_t i = 0; i < count; i++) {
        short events = attempts[i].is_datagram ? POLLIN : POLLOUT;
        ready[i] = (struct pollfd){.fd = attempts[i].fd, .events = events};
        goes_on = goes_on || attempts[i].fd >= 0;
    }
    if (!goes_on || left_ms <= 0)
        return false;
    if (poll(ready, count, (int)left_ms) < 0)
        return errno == EINTR;
    for (size_t i = 0; i < count; i++)
        if (attempts[i].fd >= 0 && ready[i].revents != 0)
            take_answer(&attempts[i]);
    return true;
}

/* The control: shows that the guest can connect at all. -1: it cannot. */
static int open_listener(struct attempt *control)
{
    set_address(control, "127.0.0.1", 0);
    struct sockaddr *address = (struct sockaddr *)&control->address;
    CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, address, control->length) < 0 || listen(fd, 1) < 0 ||
        getsockname(fd, address, &control->length) < 0) {
        control->length = 0;
        return -1;
    }
    return TAKE_FD(fd);
}

static void send_report(const struct attempt *attempts, size_t count)
{
    char report[GUEST_CONTROL_LIMIT];
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        char outcome[16] = "timeout";
        if (attempts[i].length == 0)
            continue;
        if (attempts[i].is_answered)
            (void)snprintf(outcome, sizeof(outcome), "connected");
        else if (attempts[i].error_number != 0)
            (void)snprintf(outcome, sizeof(outcome), "%d", attempts[i].error_number);
        length += (size_t)snprintf(report + length, sizeof(report) - length, "%s %s\n",
                                   attempts[i].name, outcome);
    }
    output_put(GUEST_NETWORK, report, length);
}

static uint16_t port_of(const char *text)
{
    return (uint16_t)(text ? strtoul(text, NULL, 10) : 0);
}

void network_try(const char *peer)
{
    /* The kubelet sets these variables in every container; an image cannot replace them. */
    const char *server = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    enum { CONTROL, SERVER, DNS, DNS_DATAGRAM, METADATA, POD, TRIES };
    struct attempt attempts[TRIES] = {
        [CONTROL] = {GUEST_TRY_CONTROL, .fd = -1},
        [SERVER] = {GUEST_TRY_SERVER, .fd = -1},
        [DNS] = {GUEST_TRY_DNS, .fd = -1},
        [DNS_DATAGRAM] = {GUEST_TRY_DNS_DATAGRAM, .is_datagram = true, .fd = -1},
        [METADATA] = {GUEST_TRY_METADATA, .fd = -1},
        [POD] = {GUEST_TRY_POD, .fd = -1},
    };
    _Static_assert(TRIES <= GUEST_TRIES_MOST, "room for all");
    int listener = open_listener(&attempts[CONTROL]);
    set_address(&attempts[SERVER], server, port_of(port));
    set_address(&attempts[DNS], server, PORT_OF_DNS);
    set_host(&attempts[DNS], HOST_OF_DNS);
    set_address(&attempts[DNS_DATAGRAM], server, PORT_OF_DNS);
    set_host(&attempts[DNS_DATAGRAM], HOST_OF_DNS);
    set_address(&attempts[METADATA], "169.254.169.254", PORT_OF_WEB);
    set_address(&attempts[POD], peer, PORT_OF_NOTHING);
    int64_t until_ms = now_ms() + TRY_MS;
    for (size_t i = 0; i < TRIES; i++)
        begin_attempt(&attempts[i]);
    while (await_answers(attempts, TRIES, until_ms))
        ;
    for (size_t i = 0; i < TRIES; i++)
        close_fd(TAKE_FD(attempts[i].fd));
    close_fd(listener);
    send_report(attempts, TRIES);
}
