/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C43
 * title: send a datagram to a socket of the host, by the call for that
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
    (void)socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets);
    (void)sendto(sockets[0], "", 1, 0, (struct sockaddr *)&address, sizeof(address));
    return tell(0);
}
