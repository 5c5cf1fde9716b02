/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C45
 * title: a socket to the hypervisor
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 * may-lack: AF_VSOCK
 */
#include "attack.h"

#include <sys/socket.h>

int main(void)
{
    return tell(socket(40, 1, 0) >= 0);
}
