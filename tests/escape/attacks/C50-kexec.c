/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: load a kernel; refused for its arguments where it exists
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
    (void)syscall(SYS_kexec_load, 0, 1 << 20, 0, 0);
    return tell(1);
}
