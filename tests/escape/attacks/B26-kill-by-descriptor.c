/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B26
 * title: kill a process of the host through a pidfd
 * backends: docker, process
 * expect: completed exit
 * layers: pid namespace
 * evidence: death
 * control docker: processes
 * control process: processes user landlock
 */
#include "attack.h"

#include <signal.h>

int main(void)
{
    int fd = (int)syscall(SYS_pidfd_open, atoi(getenv("SENTINEL")), 0);
    (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    return tell(0);
}
