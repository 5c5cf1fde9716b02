/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the passing of reports. Runs in the supervisor, in every init and subreaper, and in the
 * payload until its execve; all are single-threaded. */
#include "backends/process/messages/report.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "protocol/channel.h"

/* A lost report makes a wrong result, so failures that may pass, such as a lack of memory, are
 * retried a few times. A peer that ended with unread data makes the first receive fail, before what
 * it has sent. */
#define ATTEMPTS 8

static bool may_pass(int error, int *attempts)
{
    return error == EINTR || (error != EAGAIN && error != EPIPE && --*attempts > 0);
}

static uint64_t microseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

struct tree_usage tree_usage_of(const struct rusage *usage)
{
    return (struct tree_usage){
        .user_us = microseconds(usage->ru_utime),
        .system_us = microseconds(usage->ru_stime),
        .peak_memory_bytes = (uint64_t)usage->ru_maxrss * 1024,
    };
}

bool report_send(int socket, const struct report *report)
{
    return report_send_with(socket, report, -1);
}

bool report_send_with(int socket, const struct report *report, int fd)
{
    int attempts = ATTEMPTS;
    int sent;
    do
        sent = channel_send(socket, report, sizeof(*report), &fd, fd < 0 ? 0 : 1);
    while (sent < 0 && may_pass(errno, &attempts));
    return sent == 0;
}

/* ret_fd NULL: takes no descriptor and does not wait. */
static enum report_state receive_report(int socket, struct report *ret, int *ret_fd)
{
    struct report report;
    CLEANUP_CLOSE int fd = -1;
    size_t count = 0;
    int attempts = ATTEMPTS;
    ssize_t received;
    do
        received = ret_fd ? channel_receive(socket, &report, sizeof(report), &fd, 1, &count)
                          : channel_receive_now(socket, &report, sizeof(report));
    while (received < 0 && may_pass(errno, &attempts));
    if (received < 0 && errno == EAGAIN && !ret_fd)
        return REPORT_NOTHING;
    if (received != (ssize_t)sizeof(report))
        return REPORT_END;
    report.message[sizeof(report.message) - 1] = '\0';
    *ret = report;
    if (count == 1)
        *ret_fd = TAKE_FD(fd);
    return REPORT_WHOLE;
}

enum report_state report_receive_now(int socket, struct report *ret)
{
    return receive_report(socket, ret, NULL);
}

enum report_state report_receive_with(int socket, struct report *ret, int *ret_fd)
{
    return receive_report(socket, ret, ret_fd);
}
