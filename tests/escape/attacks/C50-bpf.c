/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: load a program into the kernel
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
    /* A map of one number. */
    unsigned int map[18] = {2, 4, 8, 1};
    return tell(syscall(SYS_bpf, 0, map, sizeof(map)) >= 0);
}
