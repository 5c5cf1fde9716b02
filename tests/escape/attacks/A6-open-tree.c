/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A6
 * title: a detached copy of a mount
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
    return tell(syscall(SYS_open_tree, AT_FDCWD, "/tmp", 1 /* OPEN_TREE_CLONE */) >= 0);
}
