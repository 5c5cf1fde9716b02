/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A12
 * title: read the kernel's log
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
    char text[256];
    return tell(syscall(SYS_syslog, 3 /* read all */, text, sizeof(text)) >= 0);
}
