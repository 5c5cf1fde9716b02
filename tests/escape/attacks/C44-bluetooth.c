/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C44
 * title: a bluetooth socket
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 * may-lack: AF_BLUETOOTH
 */
#include "attack.h"

#include <sys/socket.h>

int main(void)
{
    return tell(socket(31, 3, 1) >= 0);
}
