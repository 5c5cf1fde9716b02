/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A5
 * title: a child in a user namespace of its own
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
    long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(0);
    return tell(child > 0);
}
