/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the stand-in: see endpoint_broker.h. */
#include "endpoint_broker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "harness.h"
#include "protocol/channel.h"
#include "protocol/orders/egress_order.h"

static int take_listener(int intake)
{
    char kind = 0;
    int listener = -1;
    size_t count = 0;
    ssize_t length = channel_receive(intake, &kind, sizeof(kind), &listener, 1, &count);
    if (length == 0)
        return -1;
    if (length != sizeof(kind) || kind != EGRESS_INTAKE_LISTENER || count != 1)
        abort();
    return listener;
}

static void answer(int connection, const char *tag)
{
    char request[4096];
    char body[512];
    char path[256] = "";
    size_t length = 0;
    while (length + 1 < sizeof(request)) {
        ssize_t taken = recv(connection, request + length, sizeof(request) - 1 - length, 0);
        if (taken <= 0)
            return;
        length += (size_t)taken;
        request[length] = '\0';
        if (strstr(request, "\r\n\r\n"))
            break;
    }
    (void)sscanf(request, "%*s %255s", path);
    int size = snprintf(body, sizeof(body), "%s %s\n", tag, path);
    (void)dprintf(connection,
                  "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
                  "Connection: close\r\n\r\n%s",
                  size, body);
    (void)shutdown(connection, SHUT_WR);
    while (recv(connection, request, sizeof(request), 0) > 0)
        ;
}

static _Noreturn void serve(int intake, const char *tag)
{
    int listener = take_listener(intake);
    for (;;) {
        if (listener < 0 || tag[0] == '\0') {
            (void)pause();
            continue;
        }
        int connection = accept(listener, NULL, NULL);
        if (connection < 0)
            _exit(1);
        answer(connection, tag);
        close_fd(connection);
    }
}

struct broker broker_of_test(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        abort();
    harness_give_endpoints(pair[0]);
    return (struct broker){.intake = pair[0], .own = pair[1]};
}

struct broker broker_start(const char *tag)
{
    struct broker broker = broker_of_test();
    broker.pid = fork();
    if (broker.pid < 0)
        abort();
    if (broker.pid == 0) {
        (void)signal(SIGPIPE, SIG_IGN);
        close_fd(broker.intake);
        serve(broker.own, tag);
    }
    close_fd(TAKE_FD(broker.own));
    return broker;
}

int broker_take_listener(const struct broker *broker)
{
    return take_listener(broker->own);
}

void broker_stop(struct broker *broker)
{
    harness_give_endpoints(-1);
    if (broker->pid > 0) {
        (void)kill(broker->pid, SIGKILL);
        (void)waitpid(broker->pid, NULL, 0);
    }
    close_fd(broker->intake);
    close_fd(broker->own);
    *broker = (struct broker){.intake = -1, .own = -1};
}
