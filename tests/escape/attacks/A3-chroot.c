/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A3
 * title: chroot, the first step of the classic way out
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
    return tell(chroot("/tmp") == 0);
}
