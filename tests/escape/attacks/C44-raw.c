/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C44
 * title: a raw internet socket
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp, no capabilities
 * evidence: proof
 * control docker: seccomp capabilities user
 * control process: seccomp capabilities
 */
#include "attack.h"

#include <sys/socket.h>

int main(void)
{
    return tell(socket(2, 3, 1) >= 0);
}
