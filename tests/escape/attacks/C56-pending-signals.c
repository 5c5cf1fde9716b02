/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C56
 * title: keep signals in the kernel (2000)
 * backends: process
 * expect: completed exit
 * layers: pending signals limit
 * evidence: proof
 * control process: rlimit-sigpending
 */
#include "attack.h"

#include <signal.h>

int main(void)
{
    int sent = 0;
    sigset_t blocked;
    (void)sigfillset(&blocked);
    (void)sigprocmask(SIG_BLOCK, &blocked, NULL);
    while (sent < 2000 && sigqueue(getpid(), SIGRTMIN, (union sigval){0}) == 0)
        sent++;
    return tell(sent == 2000);
}
