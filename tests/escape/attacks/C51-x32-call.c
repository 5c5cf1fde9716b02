/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C51
 * title: a call of the x32 interface
 * backends: docker, process
 * expect: killed forbidden_syscall
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 */
#include "attack.h"

int main(void)
{
    say("TRIED");
    (void)syscall(0x40000000 | 39);
    return tell(1);
}
