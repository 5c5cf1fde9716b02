/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the showing of the workspace at RUN_WORKSPACE, through a read-only overlay file system. A
 * socket or FIFO has an inode of the overlay's own there, so that neither connect(2) nor open(2)
 * reaches the machine's, whenever that was made. A bind mount would have the machine's inodes, and
 * read-only stops neither call. Runs in pid 1 of a sandbox, while its root is still the host's.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "backends/process/sandbox/directories.h"
#include "backends/process/sandbox/sandbox.h"
#include "backends/process/sandbox/steps/mount_fd.h"
#include "base/cleanup.h"
#include "protocol/directory.h"

#define PLACE (&RUN_WORKSPACE[1])

/* As the file system that the directory is on has it. */
static uint64_t mount_flags(int directory)
{
    struct statvfs status;
    uint64_t flags = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    if (fstatvfs(directory, &status) < 0 || (status.f_flag & ST_NOEXEC) != 0)
        flags |= MOUNT_ATTR_NOEXEC;
    return flags;
}

/* A user namespace may not look below mounts that it has not made, as it could by an overlay, or by
 * a copy of the directory's mount alone (mount_namespaces(7)). */
static bool is_mounted_upon(int directory)
{
    CLEANUP_CLOSE int copy =
        open_tree(directory, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
    return copy < 0 && errno == EINVAL;
}

static int fail_to_show(struct sandbox *sandbox, int directory, int error)
{
    if (is_mounted_upon(directory)) {
        char text[sizeof(sandbox->detail)];
        (void)snprintf(text, sizeof(text), "something is mounted below %.150s",
                       sandbox->template->workspace);
        sandbox_detail(sandbox, text);
    }
    errno = error;
    return -1;
}

/* The directory that the plugin has looked at, and no other that its path leads to by now. It is
 * looked for again because the kernel takes no layer out of another mount namespace, as the
 * plugin's own descriptor would be one. */
static int open_workspace(struct sandbox *sandbox)
{
    struct directory_id found;
    CLEANUP_CLOSE int directory = directory_open(sandbox->template->workspace, &found);
    sandbox->failure = directory < 0 && errno != ENOENT && errno != ENOTDIR
                           ? RUN_FAILURE_WORKSPACE
                           : RUN_FAILURE_OTHER_WORKSPACE;
    if (directory < 0)
        return -1;
    if (directory_id_equal(&found, &sandbox->template->workspace_id))
        return TAKE_FD(directory);
    errno = ESTALE;
    return -1;
}

int show_workspace(struct sandbox *sandbox)
{
    const char *workspace = sandbox->template->workspace;
    if (workspace[0] == '\0')
        return 0;
    sandbox_detail(sandbox, workspace);
    CLEANUP_CLOSE int directory = open_workspace(sandbox);
    if (directory < 0)
        return -1;
    sandbox->failure = RUN_FAILURE_WORKSPACE;
    if (make_directories(sandbox->view, PLACE) < 0)
        return -1;
    /* The kernel wants two directories where nothing may be written: the other is the empty one
     * that the overlay is mounted on. */
    CLEANUP_CLOSE int empty = openat(sandbox->view, PLACE, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (empty < 0)
        return -1;
    CLEANUP_CLOSE int overlay = mount_fd_overlay(directory, empty, mount_flags(directory));
    if (overlay < 0)
        return fail_to_show(sandbox, directory, errno);
    return mount_fd_attach(overlay, sandbox->view, PLACE);
}
