/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the answers about runs: see run_answer.h. Runs in the supervisors. */
#include "backends/common/run_answer.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#include "base/cleanup.h"

#define SEND_ATTEMPTS 8

uint64_t monotonic_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t earlier_us(uint64_t one, uint64_t other)
{
    return one == 0 || (other != 0 && other < one) ? other : one;
}

void run_event_send(int socket, const struct run_event *event)
{
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    size_t length = run_event_encode(event, message);
    /* Two short messages always fit into a socket's buffer, and a peer that is gone needs none. A
     * failure that may pass, such as a lack of memory, is retried: there is no other way to send
     * the event. */
    for (int attempt = 0; socket >= 0 && length && attempt < SEND_ATTEMPTS; attempt++)
        if (send(socket, message, length, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 || errno == EPIPE ||
            errno == ECONNRESET)
            return;
}

void run_event_fail(struct run_event *event, enum run_failure failure, int error_number,
                    const char *message)
{
    event->cause = RUN_CAUSE_INFRASTRUCTURE;
    event->failure = failure;
    event->error_number = error_number;
    event->exit_code = -1;
    event->signal = 0;
    (void)snprintf(event->message, sizeof(event->message), "%s", message);
}

void run_fds_close(const int fds[RUN_FD_COUNT])
{
    for (int i = 0; i < RUN_FD_COUNT; i++)
        close_fd(fds[i]);
}

void run_refuse(const int fds[RUN_FD_COUNT], int error_number, const char *message)
{
    struct run_event event = {.type = RUN_EVENT_ENDED};
    run_event_fail(&event, RUN_FAILURE_INTERNAL, error_number, message);
    run_event_send(fds[RUN_FD_EVENTS], &event);
    run_fds_close(fds);
}
