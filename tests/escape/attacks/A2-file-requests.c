/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A2
 * title: change flags of a file of the host that may only be read
 * backends: unprivileged
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control process: seccomp
 * may-lack: flags of files
 */
#include "attack.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

int main(void)
{
    char path[512];
    int flags = 0;
    (void)snprintf(path, sizeof(path), "%s/file", getenv("SHOWN"));
    int fd = open(path, O_RDONLY);
    int reached = ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0;
    flags ^= FS_NODUMP_FL;
    return tell(reached && ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0);
}
