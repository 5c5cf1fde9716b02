/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A14
 * title: mount an overlay over a system directory
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
    (void)mkdir("upper", 0700);
    (void)mkdir("work", 0700);
    return tell(mount("none", "/etc", "overlay", 0, "lowerdir=/etc,upperdir=upper,workdir=work") ==
                0);
}
