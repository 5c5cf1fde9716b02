/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the comparison of a sandbox's namespaces with the supervisor's. Runs in pid 1 of a sandbox,
 * before its root changes, where /proc is the host's.
 */
#include <errno.h>
#include <unistd.h>

#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"

static int check_own(const struct sandbox *sandbox, enum namespace which)
{
    ino_t inode;
    if (!namespace_read(which, &inode))
        return -1;
    if (inode != sandbox->outside->inodes[which])
        return 0;
    errno = EXDEV;
    return -1;
}

int check_user_namespace(struct sandbox *sandbox)
{
    return check_own(sandbox, NAMESPACE_USER);
}

int check_pid_namespace(struct sandbox *sandbox)
{
    if (check_own(sandbox, NAMESPACE_PID) < 0)
        return -1;
    if (getpid() == 1)
        return 0;
    errno = EINVAL;
    return -1;
}

int check_mount_namespace(struct sandbox *sandbox)
{
    return check_own(sandbox, NAMESPACE_MOUNT);
}

int check_network_namespace(struct sandbox *sandbox)
{
    if (sandbox->template->network)
        return STEP_NOT_FOR_THIS_RUN;
    return check_own(sandbox, NAMESPACE_NETWORK);
}

int check_ipc_namespace(struct sandbox *sandbox)
{
    return check_own(sandbox, NAMESPACE_IPC);
}

int check_uts_namespace(struct sandbox *sandbox)
{
    return check_own(sandbox, NAMESPACE_UTS);
}
