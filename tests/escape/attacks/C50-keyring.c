/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: the kernel's keyring of the session
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
    return tell(syscall(SYS_keyctl, 0, -3, 1) >= 0);
}
