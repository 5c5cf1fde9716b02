/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A3
 * title: reach the host through a descriptor left open
 * backends: docker, process
 * expect: completed exit
 * layers: nothing is inherited
 * evidence: token
 * control docker: leaked-descriptor
 * control process: leaked-descriptor landlock
 */
#include "attack.h"

int main(void)
{
    for (int fd = 3; fd < 64; fd++) {
        int file = openat(fd, "file", O_RDONLY);
        if (file >= 0)
            return show(file);
    }
    return tell(0);
}
