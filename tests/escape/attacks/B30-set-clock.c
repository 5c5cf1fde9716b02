/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B30
 * title: the right to set the clock; it is not set
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp, no capabilities
 * evidence: proof
 * control docker: seccomp capabilities user
 * control process: none
 */
#include "attack.h"

int main(void)
{
    return tell(syscall(SYS_settimeofday, NULL, NULL) == 0);
}
