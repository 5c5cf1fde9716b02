/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C60
 * title: enter a namespace
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp, no capabilities
 * evidence: proof
 * control docker: seccomp capabilities user
 * control process: seccomp capabilities
 */
#include "attack.h"

#include <sched.h>

int main(void)
{
    return tell(setns(open("/proc/self/ns/uts", O_RDONLY), 0) == 0);
}
