/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C44
 * title: a netlink socket
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
    return tell(socket(16, 3, 0) >= 0);
}
