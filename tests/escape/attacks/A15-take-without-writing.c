/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A15
 * title: take more of the disk than a file may have, by one call that writes nothing
 * backends: unprivileged
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control process: seccomp
 * may-lack: a file system that gives room ahead
 */
#include "attack.h"

int main(void)
{
    int fd = open("taken", O_WRONLY | O_CREAT, 0600);
    return tell(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 24 << 20) == 0);
}
