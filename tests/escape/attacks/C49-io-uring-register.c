/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C49
 * title: io_uring by its other calls
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 * may-lack: io_uring
 */
#include "attack.h"

int main(void)
{
    /* Of a descriptor that is none of its own: EBADF, EOPNOTSUPP or EINVAL say that the call was
     * there. */
    errno = 0;
    (void)syscall(427, -1, 0, NULL, 0);
    int registered = errno != EPERM && errno != ENOSYS;
    errno = 0;
    (void)syscall(426, -1, 1, 0, 0, NULL, 0);
    return tell(registered || (errno != EPERM && errno != ENOSYS));
}
