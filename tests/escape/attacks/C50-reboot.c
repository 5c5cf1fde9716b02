/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: reboot; refused for its first number where it exists
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
    (void)syscall(SYS_reboot, 0, 0, 0, NULL);
    return tell(1);
}
