/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A14
 * title: mount a file system
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp, no capabilities
 * evidence: proof
 * control docker: seccomp capabilities user
 * control process: seccomp capabilities landlock
 */
#include "attack.h"

#include <sys/mount.h>

int main(void)
{
    return tell(mount("none", "/tmp", "tmpfs", 0, NULL) == 0);
}
