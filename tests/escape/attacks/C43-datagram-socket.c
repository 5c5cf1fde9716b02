/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C43
 * title: send a datagram to a socket of the host by its path
 * backends: unprivileged
 * expect: completed exit
 * layers: seccomp
 * evidence: unix
 * control process: seccomp
 */
#include "attack.h"

#include <sys/socket.h>
#include <sys/un.h>

int main(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int sockets[2] = {-1, -1};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s",
                   in_canary_directory("datagrams"));
    sockets[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
    struct iovec part = {.iov_base = "", .iov_len = 1};
    const struct msghdr message = {
        .msg_name = &address, .msg_namelen = sizeof(address), .msg_iov = &part, .msg_iovlen = 1};
    (void)sendmsg(sockets[0], &message, 0);
    return tell(0);
}
