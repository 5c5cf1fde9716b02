/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: D59
 * title: keep memory from being swapped (1 MiB)
 * backends: process
 * expect: completed exit
 * layers: locked memory limit
 * evidence: proof
 * control process: rlimit-memlock
 */
#include "attack.h"

#include <sys/mman.h>

int main(void)
{
    void *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return tell(mlock(memory, 1 << 20) == 0);
}
