/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C38
 * title: read the memory of a process of the host through /proc
 * backends: docker, process
 * expect: completed exit
 * layers: pid namespace
 * evidence: token
 * control docker: processes
 * control process: none
 */
#include "attack.h"

int main(void)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%s/mem", getenv("SENTINEL"));
    int fd = open(path, O_RDONLY);
    (void)lseek(fd, strtol(getenv("ADDRESS"), NULL, 10), SEEK_SET);
    return show(fd);
}
