/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: D63
 * title: memory that no control group counts
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 * may-lack: huge pages
 */
#include "attack.h"

#include <sys/mman.h>
#include <sys/shm.h>

#define SIZE ((size_t)2 << 20)

int main(void)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_HUGETLB;
    int reached = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
    reached |= memfd_create("huge", MFD_HUGETLB) >= 0;
    return tell(reached | (shmget(IPC_PRIVATE, SIZE, IPC_CREAT | SHM_HUGETLB | 0600) >= 0));
}
