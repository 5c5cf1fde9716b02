/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: the machine's input and output ports; refused for the level where it exists
 * backends: docker, process
 * expect: killed forbidden_syscall
 * layers: seccomp kills
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 */
#include "attack.h"

int main(void)
{
    say("TRIED");
    (void)syscall(SYS_iopl, 9);
    return tell(1);
}
