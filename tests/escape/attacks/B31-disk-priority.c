/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B31
 * title: more of the disk's time than others
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp, no capabilities
 * evidence: proof
 * control docker: seccomp capabilities user
 * control process: none
 */
#include "attack.h"

int main(void)
{
    return tell(syscall(SYS_ioprio_set, 1, 0, 1 << 13) == 0);
}
