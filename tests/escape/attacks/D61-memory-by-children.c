/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: D61
 * title: more memory than there may be, spread over processes
 * backends: docker, process
 * expect: completed exit | killed memory_limit | killed signal
 * layers: memory limit
 * evidence: memory
 * control docker: memory
 * control process: memory
 */
#include "attack.h"

int main(void)
{
    say("TRIED");
    for (int i = 0; i < 8; i++)
        if (fork() == 0) {
            char *volatile kept = malloc(30 << 20);
            memset(kept, 1, 30 << 20);
            (void)sleep(1);
            _exit(kept[0]);
        }
    return (int)sleep(2);
}
