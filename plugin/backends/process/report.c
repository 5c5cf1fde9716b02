/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the passing of reports. Runs in the supervisor, in every init and keeper, and in the payload
 * until its execve; all are single-threaded. */
#include "report.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

void report_send(int socket, const struct report *report)
{
    ssize_t sent;
    do
        sent = send(socket, report, sizeof(*report), MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
}

enum report_state report_receive(int socket, bool dont_wait, struct report *ret)
{
    struct report report;
    ssize_t received;
    do
        received = recv(socket, &report, sizeof(report), dont_wait ? MSG_DONTWAIT : 0);
    while (received < 0 && errno == EINTR);
    if (received < 0 && errno == EAGAIN)
        return REPORT_NOTHING;
    if (received != (ssize_t)sizeof(report))
        return REPORT_END;
    report.message[sizeof(report.message) - 1] = '\0';
    *ret = report;
    return REPORT_WHOLE;
}
