/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: D62
 * title: more memory than there may be, in System V segments
 * backends: docker, process
 * expect: killed memory_limit
 * layers: memory limit
 * evidence: memory
 * control docker: memory
 * control process: memory
 */
#include "attack.h"

#include <sys/shm.h>

int main(void)
{
    say("TRIED");
    for (int i = 0; i < 8; i++) {
        int segment = shmget(IPC_PRIVATE, 30 << 20, IPC_CREAT | 0600);
        char *memory = shmat(segment, NULL, 0);
        (void)shmctl(segment, IPC_RMID, NULL);
        if (memory != (char *)-1)
            memset(memory, 1, 30 << 20);
    }
    return usleep(300000);
}
