/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B20
 * title: more processes than there may be (64), all of them orphans
 * backends: unprivileged
 * expect: killed process_limit
 * layers: the first process adopts orphans and counts them
 * evidence: proof
 * control process: become_subreaper
 */
#include "attack.h"

#include <sys/wait.h>

static void leave_orphan(void)
{
    pid_t child = fork();
    if (child > 0)
        (void)waitpid(child, NULL, 0);
    if (child != 0)
        return;
    if (fork() == 0)
        (void)pause();
    _exit(0);
}

int main(void)
{
    say("TRIED");
    for (int i = 0; i < 64; i++)
        leave_orphan();
    (void)usleep(2000000); /* some hundred looks */
    return tell(1);
}
