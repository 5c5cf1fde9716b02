/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A9
 * title: make a node of the host's disk; it is not opened
 * backends: docker
 * expect: completed exit
 * layers: no capabilities, ordinary user
 * evidence: proof
 * control docker: capabilities user
 */
#include "attack.h"

#include <sys/stat.h>

int main(void)
{
    struct stat root;
    return tell(stat("/etc/hostname", &root) == 0 &&
                mknod("disk", S_IFBLK | 0600, root.st_dev) == 0);
}
