/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: D62
 * title: more memory than there may be, in files of it
 * backends: docker, process
 * expect: killed memory_limit
 * layers: memory limit
 * evidence: memory
 * control docker: memory
 * control process: memory
 */
#include "attack.h"

#include <sys/mman.h>

int main(void)
{
    static char block[1 << 20];
    say("TRIED");
    memset(block, 1, sizeof(block));
    for (int i = 0; i < 24; i++) {
        int fd = memfd_create("bomb", 0);
        for (int j = 0; j < 10; j++)
            (void)!write(fd, block, sizeof(block));
    }
    return usleep(300000);
}
