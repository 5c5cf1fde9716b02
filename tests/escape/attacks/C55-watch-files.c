/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C55
 * title: watch which programs the machine runs
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 */
#include "attack.h"

#include <sys/inotify.h>

int main(void)
{
    int fd = inotify_init1(IN_CLOEXEC);
    return tell(fd >= 0 && inotify_add_watch(fd, "/usr/bin", IN_OPEN) >= 0);
}
