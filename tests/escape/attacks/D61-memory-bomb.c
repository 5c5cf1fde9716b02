/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: D61
 * title: more memory than there may be (240 MiB)
 * backends: docker, process
 * expect: killed memory_limit
 * layers: memory limit
 * evidence: memory
 * control docker: memory
 * control process: memory
 */
#include "attack.h"

int main(void)
{
    say("TRIED");
    for (int i = 0; i < 240; i++) {
        char *volatile kept = malloc(1 << 20);
        memset(kept, 1, 1 << 20);
    }
    return usleep(300000);
}
