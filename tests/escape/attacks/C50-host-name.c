/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: change the name of the machine, in the own namespace
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp, no capabilities
 * evidence: proof
 * control docker: seccomp capabilities user
 * control process: seccomp capabilities
 */
#include "attack.h"

int main(void)
{
    return tell(sethostname("attacked", 8) == 0);
}
