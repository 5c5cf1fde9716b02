/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: handle page faults, which stops the kernel where one likes
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 * may-lack: userfaultfd
 */
#include "attack.h"

int main(void)
{
    return tell(syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */) >= 0);
}
