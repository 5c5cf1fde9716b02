/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C55
 * title: read System V memory of the host
 * backends: docker, process
 * expect: completed exit
 * layers: ipc namespace
 * evidence: token
 * control docker: ipc
 * control process: ipc
 */
#include "attack.h"

#include <sys/shm.h>

int main(void)
{
    char *memory = shmat(shmget(atoi(getenv("SHM_KEY")), 0, 0), NULL, SHM_RDONLY);
    if (memory != (char *)-1)
        (void)puts(memory);
    return tell(0);
}
