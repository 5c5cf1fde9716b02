/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the buffer of frames to the backend: see guest_output.h. Runs in the guest. */
#include "guest/messages/guest_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ROOM_OF_READ (GUEST_HEADER_LENGTH + GUEST_DATA_LIMIT)

static struct {
    unsigned char bytes[4 * ROOM_OF_READ];
    size_t begin;
    size_t end;
} buffer;

void output_open(void)
{
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags < 0 || fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK) < 0)
        _exit(1);
}

static size_t room(void)
{
    return sizeof(buffer.bytes) - (buffer.end - buffer.begin);
}

/* The place for a frame's payload; its header is in front of it. */
static unsigned char *reserve(void)
{
    if (sizeof(buffer.bytes) - buffer.end < ROOM_OF_READ) {
        memmove(buffer.bytes, buffer.bytes + buffer.begin, buffer.end - buffer.begin);
        buffer.end -= buffer.begin;
        buffer.begin = 0;
    }
    return buffer.bytes + buffer.end + GUEST_HEADER_LENGTH;
}

static void add(enum guest_kind kind, size_t length)
{
    unsigned char *header = buffer.bytes + buffer.end;
    for (size_t i = 0; i < sizeof(uint32_t); i++)
        header[i] = (unsigned char)(length >> (8 * i));
    header[sizeof(uint32_t)] = (unsigned char)kind;
    buffer.end += GUEST_HEADER_LENGTH + length;
}

bool output_has_room(void)
{
    return room() >= ROOM_OF_READ;
}

bool output_has_room_for_three(void)
{
    return room() >= (size_t)3 * ROOM_OF_READ;
}

void output_put(enum guest_kind kind, const void *bytes, size_t length)
{
    if (!output_has_room())
        output_flush_all();
    unsigned char *payload = reserve();
    if (length)
        memcpy(payload, bytes, length);
    add(kind, length);
}

ssize_t output_read(int fd, enum guest_kind kind)
{
    ssize_t count = read(fd, reserve(), GUEST_DATA_LIMIT);
    if (count > 0)
        add(kind, (size_t)count);
    return count;
}

bool output_is_empty(void)
{
    return buffer.begin == buffer.end;
}

void output_flush(void)
{
    while (!output_is_empty()) {
        ssize_t count =
            write(STDOUT_FILENO, buffer.bytes + buffer.begin, buffer.end - buffer.begin);
        if (count < 0 && errno == EAGAIN)
            return;
        if (count < 0 && errno != EINTR)
            _exit(1);
        buffer.begin += count > 0 ? (size_t)count : 0;
    }
    buffer.begin = buffer.end = 0;
}

void output_flush_all(void)
{
    struct pollfd ready[] = {{.fd = STDOUT_FILENO, .events = POLLOUT}, {.fd = STDIN_FILENO}};
    for (output_flush(); !output_is_empty(); output_flush())
        if (poll(ready, COUNT_OF(ready), -1) > 0 && (ready[1].revents & (POLLHUP | POLLERR)))
            _exit(1);
}
