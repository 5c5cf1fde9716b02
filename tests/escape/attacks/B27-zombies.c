/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B27
 * title: orphans that die and are buried by nobody
 * backends: docker
 * expect: completed exit
 * layers: init that reaps
 * evidence: zombies
 * control docker: impossible nothing else in the container can be its first process
 */
#include "attack.h"

#include <sys/wait.h>

int main(void)
{
    say("TRIED");
    if (fork() == 0) {
        for (int i = 0; i < 20; i++)
            if (fork() == 0) {
                (void)usleep(300000);
                _exit(0);
            }
        _exit(0);
    }
    (void)wait(NULL);
    (void)usleep(700000);
    return 0;
}
