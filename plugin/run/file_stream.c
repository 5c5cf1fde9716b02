/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of a run's files: see file_stream.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "run/file_stream.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "protocol/file_frames.h"

/* A collection is silent while it searches, which has a limit of its own
 * (guest/files/collection.c). */
#define SILENCE_LIMIT_MS 6000
#define HASTE_LIMIT_MS   (UINT64_C(2) * FILE_FRAMES_HASTE_MS)
#define BUFFER_BYTES     65536

void file_stream_read(struct file_stream *stream)
{
    unsigned char bytes[BUFFER_BYTES];
    ssize_t length = read(stream->fd, bytes, sizeof(bytes));
    bool is_over = length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR);
    if (length > 0) {
        is_over = !stream->take(stream->user, bytes, (size_t)length);
        explicit_bzero(bytes, (size_t)length); /* of files that may hold a secret */
    }
    if (is_over)
        close_fd(TAKE_FD(stream->fd));
}

void file_stream_finish(struct file_stream *stream, int cancel_fd, bool haste)
{
    uint64_t limit_ms = haste ? HASTE_LIMIT_MS : SILENCE_LIMIT_MS;
    uint64_t deadline_ms = monotonic_ms() + limit_ms;
    while (stream->fd >= 0) {
        struct pollfd entries[] = {
            {.fd = stream->fd, .events = POLLIN},
            {.fd = cancel_fd, .events = POLLIN},
        };
        int ready = poll(entries, COUNT_OF(entries), deadline_poll_timeout(deadline_ms));
        if ((ready < 0 && errno != EINTR) || entries[1].revents != 0)
            break;
        if (ready > 0 && entries[0].revents != 0) {
            uint64_t before_ms = monotonic_ms();
            file_stream_read(stream);
            /* What the host takes to store a file is its own time. */
            deadline_ms =
                haste ? deadline_ms + monotonic_ms() - before_ms : monotonic_ms() + limit_ms;
        } else if (monotonic_ms() > deadline_ms) {
            break;
        }
    }
    close_fd(TAKE_FD(stream->fd));
}
