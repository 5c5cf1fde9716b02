/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B26
 * title: kill a process of the host by queued and thread signals
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
    pid_t pid = atoi(getenv("SENTINEL"));
    (void)sigqueue(pid, SIGKILL, (union sigval){0});
    (void)syscall(SYS_tgkill, pid, pid, SIGKILL);
    (void)syscall(SYS_tkill, pid, SIGKILL);
    return tell(0);
}
