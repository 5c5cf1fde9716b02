/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C53
 * title: an internet socket by a family with high bits
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 */
#include "attack.h"

int main(void)
{
    return tell(syscall(SYS_socket, (1UL << 40) | 2, 1UL, 0UL) >= 0);
}
