/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A2
 * title: leave an extended attribute at a file of the host
 * backends: unprivileged
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control process: seccomp
 * may-lack: extended attributes of users
 */
#include "attack.h"

#include <sys/xattr.h>

int main(void)
{
    const char *path = in_canary_directory("file");
    return tell(setxattr(path, "user.left", "1", 1, 0) == 0);
}
