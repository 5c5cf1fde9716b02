/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what goes over the control socket: see control.h. Runs in the supervisors. */
#include "backends/common/control.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "protocol/run_event.h"

int control_greet(int control)
{
    const struct backend_hello hello = {.protocol_version = PROTOCOL_VERSION,
                                        .pid = (int32_t)getpid()};
    return channel_send(control, &hello, sizeof(hello), NULL, 0);
}

/* Without waiting: the plugin gives up soon. */
static void report_pool(int socket, const struct control_handler *handler, void *user)
{
    struct pool_report report;
    unsigned char message[POOL_REPORT_LENGTH];
    handler->count_pool(user, &report);
    pool_report_encode(&report, message);
    (void)send(socket, message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The socket is still good: the datagram is lost, or comes again. */
static bool is_passing(int error_number)
{
    return error_number == EAGAIN || error_number == EINTR || error_number == EMSGSIZE ||
           error_number == ENOMEM || error_number == ENOBUFS;
}

bool control_handle(int control, const struct control_handler *handler, void *user)
{
    char kind = 0;
    int fds[RUN_FD_COUNT];
    size_t count = 0;
    ssize_t length = channel_receive(control, &kind, sizeof(kind), fds, COUNT_OF(fds), &count);
    if (length < 0)
        return is_passing(errno);
    if (length == 1 && kind == CONTROL_RUN && count == RUN_FD_COUNT) {
        handler->start_run(user, fds);
        return true;
    }
    if (length == 1 && kind == CONTROL_POOL && count == 1)
        report_pool(fds[0], handler, user);
    for (size_t i = 0; i < count; i++)
        close_fd(fds[i]);
    return length > 0;
}
