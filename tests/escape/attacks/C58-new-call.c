/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C58
 * title: a call that is newer than every list
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 * may-lack: lsm_get_self_attr
 */
#include "attack.h"

#include <stdint.h>

int main(void)
{
    uint32_t size = 0;
    errno = 0;
    (void)syscall(459 /* lsm_get_self_attr */, 100, NULL, &size, 0);
    return tell(errno != ENOSYS && errno != EPERM);
}
