/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the table of namespaces and their comparison: see namespaces.h. The supervisor reads its
 * own; the steps run in pid 1 of a sandbox, before its root changes, where /proc is the host's.
 */
#include "namespaces.h"

#include <errno.h>
#include <linux/sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/cleanup.h"
#include "sandbox.h"

const struct namespace_kind namespace_kinds[NAMESPACE_COUNT] = {
    [NAMESPACE_USER] = {CLONE_NEWUSER, LAYER_USER_NAMESPACE, "user"},
    [NAMESPACE_PID] = {CLONE_NEWPID, LAYER_PID_NAMESPACE, "pid"},
    [NAMESPACE_MOUNT] = {CLONE_NEWNS, LAYER_MOUNT_NAMESPACE, "mnt"},
    [NAMESPACE_NETWORK] = {CLONE_NEWNET, LAYER_NETWORK_NAMESPACE, "net"},
    [NAMESPACE_IPC] = {CLONE_NEWIPC, LAYER_IPC_NAMESPACE, "ipc"},
    [NAMESPACE_UTS] = {CLONE_NEWUTS, LAYER_UTS_NAMESPACE, "uts"},
};

static bool read_inode(enum namespace which, ino_t *ret)
{
    char path[sizeof("/proc/self/ns/") + 8];
    struct stat status;
    (void)snprintf(path, sizeof(path), "/proc/self/ns/%s", namespace_kinds[which].file);
    if (stat(path, &status) < 0)
        return false;
    *ret = status.st_ino;
    return true;
}

bool namespaces_read(struct namespaces *ret)
{
    struct namespaces namespaces;
    for (int i = 0; i < NAMESPACE_COUNT; i++)
        if (!read_inode((enum namespace)i, &namespaces.inodes[i]))
            return false;
    *ret = namespaces;
    return true;
}

static int check_own(const struct sandbox *sandbox, enum namespace which)
{
    ino_t inode;
    if (!read_inode(which, &inode))
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
    if (sandbox->shape->network)
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
