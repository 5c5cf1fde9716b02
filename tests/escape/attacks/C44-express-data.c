/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C44
 * title: an express data path socket
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp, no capabilities
 * evidence: proof
 * control docker: seccomp capabilities user
 * control process: seccomp capabilities
 * may-lack: AF_XDP
 */
#include "attack.h"

#include <sys/socket.h>

int main(void)
{
    return tell(socket(44, 3, 0) >= 0);
}
