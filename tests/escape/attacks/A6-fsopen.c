/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A6
 * title: a file system by the new mount calls
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp, no capabilities
 * evidence: proof
 * control docker: seccomp capabilities user
 * control process: seccomp capabilities landlock
 */
#include "attack.h"

int main(void)
{
    return tell(syscall(SYS_fsopen, "tmpfs", 0) >= 0);
}
