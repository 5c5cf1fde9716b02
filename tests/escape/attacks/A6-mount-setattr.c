/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A6
 * title: change the attributes of a mount
 * backends: docker
 * expect: completed exit
 * layers: seccomp, no capabilities
 * evidence: proof
 * control docker: seccomp capabilities user
 */
#include "attack.h"

#include <stdint.h>

int main(void)
{
    uint64_t attributes[4] = {0, 8 /* MOUNT_ATTR_NOEXEC */, 0, 0};
    return tell(syscall(442, AT_FDCWD, "/tmp", 0, attributes, sizeof(attributes)) == 0);
}
