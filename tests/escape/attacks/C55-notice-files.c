/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C55
 * title: be told by a signal which directories are read
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 */
#include "attack.h"

#include <signal.h>

int main(void)
{
    (void)signal(SIGIO, SIG_IGN);
    int fd = open("/usr/bin", O_RDONLY | O_DIRECTORY);
    int reached = fcntl(fd, F_NOTIFY, DN_ACCESS) == 0;
    return tell(reached || syscall(SYS_fcntl, fd, 1L << 32 | F_NOTIFY, DN_ACCESS) == 0);
}
