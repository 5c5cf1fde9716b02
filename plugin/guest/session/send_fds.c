/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the handing over of descriptors: see guest_session.h. Runs in the guest. */
#include "guest/session/guest_session.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

bool send_fds(int socket, char kind, const int *fds, size_t count)
{
    struct iovec part = {.iov_base = &kind, .iov_len = sizeof(kind)};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(SEND_FDS_LIMIT * sizeof(int))];
    } control = {.space = {0}};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *header = &control.header;
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}
