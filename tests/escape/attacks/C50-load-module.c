/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: load a module; refused for its arguments where it exists
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
    (void)syscall(SYS_init_module, NULL, 0, NULL);
    return tell(1);
}
