/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: E75
 * title: connect to a service of the host by multipath TCP
 * backends: docker, process
 * expect: completed exit
 * layers: network namespace, seccomp
 * evidence: tcp
 * control docker: network seccomp
 * control process: network seccomp landlock
 * may-lack: multipath TCP
 */
#include "attack.h"

#include <arpa/inet.h>
#include <sys/socket.h>

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(getenv("TCP_PORT")))};
    struct timeval patience = {.tv_sec = 1};
    int fd = socket(AF_INET, SOCK_STREAM, 262);
    (void)inet_aton("127.0.0.1", &address.sin_addr);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    (void)connect(fd, (struct sockaddr *)&address, sizeof(address));
    return tell(0);
}
