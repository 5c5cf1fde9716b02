/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: watch whole file systems
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp capabilities user
 * control process: none
 * may-lack: fanotify
 */
#include "attack.h"

int main(void)
{
    return tell(syscall(SYS_fanotify_init, 0, 0) >= 0);
}
