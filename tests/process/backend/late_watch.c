/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a backend of its own, linked around the product's objects: the end of the first run cannot be
 * watched, which is found out only when it has come. What a busy machine does to a supervisor that
 * has no epoll entry left, made to happen each time.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

#include "backends/process/supervisor/run.h"

#define OF_SUPERVISOR 4   /* not of a run: control socket, host, pool, those that are leaving */
#define END_LIMIT_MS  300 /* for a program to end; its init stays until it is dismissed */

int __real_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);

int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    static int added;
    if (operation != EPOLL_CTL_ADD || added++ != OF_SUPERVISOR + RUN_SOURCE_PIDFD)
        return __real_epoll_ctl(epoll, operation, fd, event);
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    (void)poll(&ended, 1, END_LIMIT_MS);
    errno = ENOSPC;
    return -1;
}
