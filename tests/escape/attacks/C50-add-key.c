/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: leave a key in the kernel
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
    long key = syscall(SYS_add_key, "user", "attack", "x", 1UL, -2L /* of the process */);
    return tell(key >= 0);
}
