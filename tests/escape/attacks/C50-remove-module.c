/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: remove a module; refused for its name where it exists
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
    (void)syscall(SYS_delete_module, NULL, 0);
    return tell(1);
}
