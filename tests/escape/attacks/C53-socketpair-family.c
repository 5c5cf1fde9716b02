/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C53
 * title: a pair of sockets of another family
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 */
#include "attack.h"

#include <sys/socket.h>

int main(void)
{
    int pair[2];
    errno = 0;
    (void)socketpair(AF_INET, SOCK_STREAM, 0, pair);
    return tell(errno == EOPNOTSUPP); /* from behind the filter */
}
