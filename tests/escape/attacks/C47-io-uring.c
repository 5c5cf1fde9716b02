/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C47
 * title: io_uring, which opens and connects past a filter
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 * may-lack: io_uring
 */
#include "attack.h"

int main(void)
{
    char parameters[120] = {0};
    return tell(syscall(425, 4, parameters) >= 0);
}
