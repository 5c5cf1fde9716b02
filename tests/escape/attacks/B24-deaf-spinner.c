/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B24
 * title: spin, deaf to every signal that can be caught
 * backends: docker, process
 * expect: killed signal | killed cpu_limit
 * layers: processor time limit
 * evidence: cputime
 * timeout: 20000
 * control docker: cpu
 * control process: rlimit-cpu timeout=20000
 */
#include "attack.h"

#include <signal.h>
#include <time.h>

int main(void)
{
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_IGN);
    say("TRIED");
    while (clock() < atof(getenv("LONG")) * CLOCKS_PER_SEC) {
    }
    return 0;
}
