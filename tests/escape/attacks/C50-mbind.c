/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: place memory on nodes
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 * may-lack: set_mempolicy
 */
#include "attack.h"

int main(void)
{
    return tell(syscall(SYS_set_mempolicy, 0, NULL, 0) == 0);
}
