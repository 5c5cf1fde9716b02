/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C53
 * title: a user namespace by unshare with high bits
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp disable_nested_namespaces
 */
#include "attack.h"

#include <sched.h>

int main(void)
{
    return tell(syscall(SYS_unshare, (1UL << 40) | CLONE_NEWUSER) == 0 ||
                syscall(SYS_unshare, CLONE_NEWUSER) == 0);
}
