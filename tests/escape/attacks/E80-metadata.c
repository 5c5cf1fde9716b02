/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: E80
 * title: connect to a cloud's metadata service
 * backends: docker
 * expect: completed exit
 * layers: network namespace, seccomp
 * evidence: tcp
 * control docker: network-of-other seccomp
 */
#include "attack.h"

#include <arpa/inet.h>
#include <sys/socket.h>

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(80)};
    struct timeval patience = {.tv_sec = 1};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    (void)inet_aton("169.254.169.254", &address.sin_addr);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    (void)connect(fd, (struct sockaddr *)&address, sizeof(address));
    return tell(0);
}
