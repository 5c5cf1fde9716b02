/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B32
 * title: become a child of what started it
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 */
#include "attack.h"

#include <sched.h>
#include <signal.h>

int main(void)
{
    long child = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(0);
    return tell(child > 0);
}
