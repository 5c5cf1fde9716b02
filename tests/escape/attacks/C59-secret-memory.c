/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C59
 * title: memory that the kernel itself cannot see
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 * may-lack: memfd_secret
 */
#include "attack.h"

int main(void)
{
    return tell(syscall(447, 0) >= 0);
}
