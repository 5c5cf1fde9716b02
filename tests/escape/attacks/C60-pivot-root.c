/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C60
 * title: another root
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
    /* Where the arguments are no mounts, EINVAL comes from behind the filter and the capability. */
    return tell(syscall(SYS_pivot_root, "/tmp", "/tmp") == 0 || errno == EINVAL || errno == EBUSY);
}
