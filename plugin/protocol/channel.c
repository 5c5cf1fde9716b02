/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the passing of datagrams and descriptors (unix(7), SCM_RIGHTS). Runs in the plugin on the
 * calling thread and in every backend.
 */
#include "channel.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

/* One more than any message of ours carries, so that a surplus is seen rather than cut off. */
#define CHANNEL_FDS_LIMIT 16

union control_buffer {
    char bytes[CMSG_SPACE(CHANNEL_FDS_LIMIT * sizeof(int))];
    struct cmsghdr alignment;
};

int channel_send(int socket, const void *bytes, size_t length, const int *fds, size_t fd_count)
{
    if (fd_count > CHANNEL_FDS_LIMIT) {
        errno = EINVAL;
        return -1;
    }
    union control_buffer control = {{0}};
    struct iovec vector = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    if (fd_count) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -1 : 0;
}

/* Moves every received descriptor to fds; their number. */
static size_t take_fds(struct msghdr *message, int fds[CHANNEL_FDS_LIMIT])
{
    size_t count = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        size_t received = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < received && count < CHANNEL_FDS_LIMIT; i++)
            memcpy(&fds[count++], CMSG_DATA(header) + i * sizeof(int), sizeof(int));
    }
    return count;
}

static ssize_t receive_once(int socket, struct msghdr *message, int flags)
{
    ssize_t length;
    do
        length = recvmsg(socket, message, flags);
    while (length < 0 && errno == EINTR);
    return length;
}

/* A peer that closes with a datagram of ours unread leaves ECONNRESET, which the kernel tells
 * once, and ahead of what the peer has sent before. */
static ssize_t receive_behind_reset(int socket, struct msghdr *message, int flags)
{
    const struct msghdr fresh = *message;
    ssize_t length = receive_once(socket, message, flags);
    if (length >= 0 || errno != ECONNRESET)
        return length;
    *message = fresh;
    return receive_once(socket, message, flags);
}

/* The kernel may report the end of file too early, with and without waiting. It looks for a
 * datagram first and for the peer afterwards (unix_dgram_recvmsg() in net/unix/af_unix.c). A peer
 * that sends and closes in between leaves its last datagram behind. A second read finds it. */
static ssize_t receive(int socket, struct msghdr *message, int flags)
{
    const struct msghdr fresh = *message;
    ssize_t length = receive_behind_reset(socket, message, flags);
    if (length != 0)
        return length;
    *message = fresh;
    length = receive_behind_reset(socket, message, flags | MSG_DONTWAIT);
    return length < 0 && errno == EAGAIN ? 0 : length;
}

ssize_t channel_receive_now(int socket, void *bytes, size_t capacity)
{
    struct iovec vector = {.iov_base = bytes, .iov_len = capacity};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    ssize_t length = receive(socket, &message, MSG_DONTWAIT);
    if (length < 0 || !(message.msg_flags & MSG_TRUNC))
        return length;
    errno = EMSGSIZE;
    return -1;
}

static ssize_t receive_with_fds(int socket, int flags, void *bytes, size_t capacity, int *fds,
                                size_t fd_capacity, size_t *ret_fd_count)
{
    union control_buffer control = {{0}};
    struct iovec vector = {.iov_base = bytes, .iov_len = capacity};
    struct msghdr message = {
        .msg_iov = &vector,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes),
    };
    ssize_t length = receive(socket, &message, flags | MSG_CMSG_CLOEXEC);
    if (length < 0)
        return -1;
    int received[CHANNEL_FDS_LIMIT];
    size_t count = take_fds(&message, received);
    if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || count > fd_capacity) {
        for (size_t i = 0; i < count; i++)
            close_fd(received[i]);
        errno = EMSGSIZE;
        return -1;
    }
    if (count)
        memcpy(fds, received, count * sizeof(int));
    if (ret_fd_count)
        *ret_fd_count = count;
    return length;
}

ssize_t channel_receive(int socket, void *bytes, size_t capacity, int *fds, size_t fd_capacity,
                        size_t *ret_fd_count)
{
    return receive_with_fds(socket, 0, bytes, capacity, fds, fd_capacity, ret_fd_count);
}

ssize_t channel_receive_fds_now(int socket, void *bytes, size_t capacity, int *fds,
                                size_t fd_capacity, size_t *ret_fd_count)
{
    return receive_with_fds(socket, MSG_DONTWAIT, bytes, capacity, fds, fd_capacity, ret_fd_count);
}
