/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A3
 * title: climb to the host's root by ..
 * backends: docker, process
 * expect: completed exit
 * layers: mount namespace, no binds
 * evidence: token
 * control docker: bind
 * control process: bind
 */
#include "attack.h"

int main(void)
{
    int fd = open("/", O_PATH | O_DIRECTORY);
    for (int i = 0; i < 32; i++)
        fd = openat(fd, "..", O_PATH | O_DIRECTORY);
    return show(openat(fd, in_canary_directory("file") + 1, O_RDONLY));
}
