/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C52
 * title: a user namespace by flags that a filter cannot see
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
#include <stdint.h>

int main(void)
{
    uint64_t arguments[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
    long child = syscall(SYS_clone3, arguments, sizeof(arguments));
    if (child == 0)
        _exit(0);
    return tell(child > 0);
}
