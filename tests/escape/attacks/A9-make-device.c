/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A9
 * title: make a character device and read it
 * backends: docker, process
 * expect: completed exit
 * layers: no capabilities, nodev
 * evidence: proof
 * control docker: capabilities user scratch-devices
 * control process: none
 */
#include "attack.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

int main(void)
{
    char bytes[16];
    if (mknod("device", S_IFCHR | 0666, makedev(1, 5)) != 0)
        return tell(0);
    return tell(read(open("device", O_RDONLY), bytes, sizeof(bytes)) == sizeof(bytes));
}
