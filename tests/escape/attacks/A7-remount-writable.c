/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A7
 * title: make the read-only root writable again
 * backends: docker
 * expect: completed exit
 * layers: seccomp, no capabilities, ordinary user
 * evidence: rootfs
 * control docker: seccomp capabilities user
 */
#include "attack.h"

#include <sys/mount.h>

int main(void)
{
    (void)mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL);
    (void)open("/written", O_WRONLY | O_CREAT, 0600);
    return tell(0);
}
