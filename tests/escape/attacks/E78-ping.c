/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: E78
 * title: an ICMP socket
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp, no capabilities
 * evidence: proof
 * control docker: seccomp capabilities user
 * control process: impossible not every machine lets root's group ping
 */
#include "attack.h"

#include <sys/socket.h>

int main(void)
{
    return tell(socket(2, 2, 1) >= 0);
}
