/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C46
 * title: a socket to the kernel's cryptography
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 * may-lack: AF_ALG
 */
#include "attack.h"

#include <sys/socket.h>

int main(void)
{
    return tell(socket(38, 5, 0) >= 0);
}
