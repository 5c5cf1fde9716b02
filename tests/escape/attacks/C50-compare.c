/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: compare what two processes share
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 * may-lack: kcmp
 */
#include "attack.h"

int main(void)
{
    return tell(syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0) == 0);
}
