/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the way from a program to the broker of its endpoints: the loopback interface of the run's
 * network namespace, which has nothing else, and the one socket that listens there. The broker gets
 * that socket before the program exists, and nobody inside keeps it. Runs in pid 1 of a sandbox,
 * while it has its capabilities and the machine's /proc.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"
#include "protocol/channel.h"
#include "protocol/orders/egress_order.h"

/* Connections that wait for the broker; the kernel leaves further ones unanswered. */
#define BACKLOG 64

/* Bytes: the least, at first, and the most that one connection holds in each direction. The pages
 * of all TCP of the machine are limited together, so what one run can hold is not to be felt. */
#define SOCKET_BUFFER "4096 65536 262144"

static int open_socket(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

int raise_loopback(struct sandbox *sandbox)
{
    if (!sandbox->template->endpoints)
        return STEP_NOT_FOR_THIS_RUN;
    struct ifreq request = {.ifr_name = "lo"};
    CLEANUP_CLOSE int any_socket = open_socket();
    if (any_socket < 0 || ioctl(any_socket, SIOCGIFFLAGS, &request) < 0)
        return -1;
    request.ifr_flags |= IFF_UP;
    return ioctl(any_socket, SIOCSIFFLAGS, &request);
}

static int write_setting(const char *path, const char *text)
{
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

/* Settings of the run's namespace. Where /proc/sys is read-only, the control group still counts
 * these pages. */
int limit_socket_memory(struct sandbox *sandbox)
{
    if (!sandbox->template->endpoints)
        return STEP_NOT_FOR_THIS_RUN;
    int receiving = write_setting("/proc/sys/net/ipv4/tcp_rmem", SOCKET_BUFFER);
    int sending = write_setting("/proc/sys/net/ipv4/tcp_wmem", SOCKET_BUFFER);
    return receiving < 0 ? receiving : sending;
}

static int listen_there(int socket)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(RUN_ENDPOINTS_PORT),
        .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
    };
    return bind(socket, (const struct sockaddr *)&address, sizeof(address)) < 0
               ? -1
               : listen(socket, BACKLOG);
}

/* A trial has no broker: there it is made, and that is all. */
int hand_over_endpoints(struct sandbox *sandbox)
{
    if (!sandbox->template->endpoints)
        return STEP_NOT_FOR_THIS_RUN;
    static const char kind = EGRESS_INTAKE_LISTENER;
    CLEANUP_CLOSE int intake = TAKE_FD(sandbox->intake);
    CLEANUP_CLOSE int listener = open_socket();
    if (listener < 0 || listen_there(listener) < 0)
        return -1;
    return intake < 0 ? 0 : channel_send(intake, &kind, sizeof(kind), &listener, 1);
}
