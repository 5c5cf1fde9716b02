/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B31
 * title: more priority than others
 * backends: docker, process
 * expect: completed exit
 * layers: no capabilities
 * evidence: proof
 * control docker: capabilities user
 * control process: none
 */
#include "attack.h"

#include <sys/resource.h>

int main(void)
{
    return tell(setpriority(PRIO_PROCESS, 0, -5) == 0 && getpriority(PRIO_PROCESS, 0) == -5);
}
