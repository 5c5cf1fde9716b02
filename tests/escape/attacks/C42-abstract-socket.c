/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C42
 * title: connect to an abstract socket of the host
 * backends: docker, process
 * expect: completed exit
 * layers: network namespace
 * evidence: abstract
 * control docker: network
 * control process: network landlock
 */
#include "attack.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

int main(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path + 1, getenv("ABSTRACT"));
    socklen_t length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address.sun_path + 1));
    (void)connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, length);
    return tell(0);
}
