/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A10
 * title: open /proc/sysrq-trigger for writing; nothing is written
 * backends: docker
 * expect: completed exit
 * layers: masked path, ordinary user
 * evidence: proof
 * control docker: masked-paths read-only-paths user
 * may-lack: /proc/sysrq-trigger
 */
#include "attack.h"

#include <sys/stat.h>

int main(void)
{
    struct stat status;
    int fd = open("/proc/sysrq-trigger", O_WRONLY);
    return tell(fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode));
}
