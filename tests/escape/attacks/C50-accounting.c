/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: the right to account for processes; refused for its file where it exists
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp, no capabilities
 * evidence: proof
 * control docker: seccomp capabilities user
 * control process: impossible not as root of the machine
 * may-lack: acct
 */
#include "attack.h"

int main(void)
{
    errno = 0;
    (void)syscall(SYS_acct, "/does/not/exist");
    return tell(errno == ENOENT);
}
