/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: ask for quotas of the host's disk
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp capabilities user
 * control process: seccomp
 */
#include "attack.h"

int main(void)
{
    /* EFAULT, ENODEV and the like come from behind the filter. */
    errno = 0;
    (void)syscall(SYS_quotactl, 0x80000100 /* Q_SYNC */, NULL, 0, NULL);
    return tell(errno != EPERM && errno != ENOSYS);
}
