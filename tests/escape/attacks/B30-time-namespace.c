/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B30
 * title: clocks of its own
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
    return tell(unshare(0x80 /* CLONE_NEWTIME */) == 0);
}
