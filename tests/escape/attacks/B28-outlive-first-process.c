/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B28
 * title: live on behind a first process that the machine has killed
 * backends: unprivileged
 * expect: killed signal
 * layers: guardian
 * evidence: left
 * control process: start_guardian spared-orphans
 * given process: dying-init
 */
#include "attack.h"

int main(void)
{
    say("TRIED");
    for (int i = 0; i < 2;
         i++) { /* with the main program three, at which the control ends the init */
        if (fork() != 0)
            continue;
        (void)setsid();
        (void)close_range(0, 2, 0);
        (void)usleep((useconds_t)(atof(getenv("LONG")) * 1e6));
        _exit(0);
    }
    return pause();
}
