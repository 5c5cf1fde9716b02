/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A5
 * title: a user namespace of its own, and a mount in it
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp disable_nested_namespaces landlock
 */
#include "attack.h"

#include <sched.h>
#include <sys/mount.h>

int main(void)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return tell(0);
    return tell(mount("none", "/tmp", "tmpfs", 0, NULL) == 0);
}
