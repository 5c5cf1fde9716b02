/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A11
 * title: mount a control group hierarchy
 * backends: docker
 * expect: completed exit
 * layers: seccomp, no capabilities
 * evidence: proof
 * control docker: seccomp capabilities user
 */
#include "attack.h"

#include <sys/mount.h>
#include <sys/stat.h>

int main(void)
{
    (void)mkdir("groups", 0700);
    return tell(mount("none", "groups", "cgroup", 0, "memory") == 0 ||
                mount("none", "groups", "cgroup2", 0, NULL) == 0);
}
