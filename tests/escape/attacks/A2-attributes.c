/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A2
 * title: change mode, times and owner of a file of the host
 * backends: unprivileged
 * expect: completed exit
 * layers: seccomp, calls held for the first process
 * evidence: file proof
 * control process: seccomp
 */
#include "attack.h"

#include <sys/stat.h>

/* The mode is another one, the times and the owner are the same. */
int main(void)
{
    const char *path = in_canary_directory("file");
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
    int reached = chmod(path, 0644) == 0;
    reached |= utimensat(AT_FDCWD, path, times, 0) == 0;
    return tell(reached | (lchown(path, geteuid(), getegid()) == 0));
}
