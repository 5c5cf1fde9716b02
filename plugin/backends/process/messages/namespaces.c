/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of namespaces: see namespaces.h. Runs in the supervisor and in inits. */
#include "backends/process/messages/namespaces.h"

#include <linux/sched.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"

const struct namespace_kind namespace_kinds[NAMESPACE_COUNT] = {
    [NAMESPACE_USER] = {CLONE_NEWUSER, LAYER_USER_NAMESPACE, "user"},
    [NAMESPACE_PID] = {CLONE_NEWPID, LAYER_PID_NAMESPACE, "pid"},
    [NAMESPACE_MOUNT] = {CLONE_NEWNS, LAYER_MOUNT_NAMESPACE, "mnt"},
    [NAMESPACE_NETWORK] = {CLONE_NEWNET, LAYER_NETWORK_NAMESPACE, "net"},
    [NAMESPACE_IPC] = {CLONE_NEWIPC, LAYER_IPC_NAMESPACE, "ipc"},
    [NAMESPACE_UTS] = {CLONE_NEWUTS, LAYER_UTS_NAMESPACE, "uts"},
};

bool namespace_read(enum namespace which, ino_t *ret)
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
        if (!namespace_read((enum namespace)i, &namespaces.inodes[i]))
            return false;
    *ret = namespaces;
    return true;
}
