/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C42
 * title: take a name among the abstract sockets of the host
 * backends: unprivileged
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control process: seccomp
 */
#include "attack.h"

#include <sys/socket.h>
#include <sys/un.h>

int main(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int pair[2];
    (void)socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    (void)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", getenv("PROOF"));
    return tell(bind(pair[0], (struct sockaddr *)&address, sizeof(address)) == 0);
}
