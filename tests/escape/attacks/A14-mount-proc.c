/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A14
 * title: mount a /proc without covers
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp, no capabilities
 * evidence: proof
 * control docker: seccomp capabilities user
 * control process: seccomp capabilities landlock
 */
#include "attack.h"

#include <sys/mount.h>
#include <sys/stat.h>

int main(void)
{
    (void)mkdir("proc", 0700);
    return tell(mount("none", "proc", "proc", 0, NULL) == 0);
}
