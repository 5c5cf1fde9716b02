/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C53
 * title: a user namespace by flags with high bits
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp disable_nested_namespaces
 */
#include "attack.h"

#include <sched.h>
#include <signal.h>

int main(void)
{
    long child = syscall(SYS_clone, (1UL << 40) | CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(0);
    return tell(child > 0);
}
