/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the mount calls by descriptor: see mount_fd.h. */
#include "backends/process/sandbox/steps/mount_fd.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"

static int configure(int context, const char *key, const char *value)
{
    return fsconfig(context, FSCONFIG_SET_STRING, key, value, 0);
}

static int configure_number(int context, const char *key, uint64_t value)
{
    char text[24];
    if (value == 0)
        return 0;
    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    return configure(context, key, text);
}

int mount_fd_tmpfs(uint64_t bytes, uint64_t inodes, const char *mode)
{
    CLEANUP_CLOSE int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
    if (context < 0)
        return -1;
    if (configure_number(context, "size", bytes) < 0 ||
        configure_number(context, "nr_inodes", inodes) < 0 ||
        configure(context, "mode", mode) < 0 ||
        fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    return fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

/* Extended attributes that somebody has written to the directory must not lead to another directory
 * or to another file's content. Without "userxattr" only "trusted." ones would count, which the
 * mounter of a user namespace cannot read (the kernel's filesystems/overlayfs.rst). By descriptor a
 * path needs no escapes and is not followed again. */
int mount_fd_overlay(int directory, int other, uint64_t flags)
{
    char layers[64];
    (void)snprintf(layers, sizeof(layers), "/proc/self/fd/%d:/proc/self/fd/%d", directory, other);
    CLEANUP_CLOSE int context = fsopen("overlay", FSOPEN_CLOEXEC);
    if (context < 0 || configure(context, "lowerdir", layers) < 0 ||
        configure(context, "redirect_dir", "nofollow") < 0 ||
        configure(context, "metacopy", "off") < 0 ||
        fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    return fsmount(context, FSMOUNT_CLOEXEC, (unsigned int)flags);
}

int mount_fd_clone(int directory, const char *path)
{
    return open_tree(directory, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
}

int mount_fd_restrict(int mount, uint64_t flags)
{
    struct mount_attr attributes = {.attr_set = flags};
    return mount_setattr(mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof(attributes));
}

int mount_fd_allow(int mount, uint64_t flags)
{
    struct mount_attr attributes = {.attr_clr = flags};
    return mount_setattr(mount, "", AT_EMPTY_PATH, &attributes, sizeof(attributes));
}

int mount_fd_attach(int mount, int directory, const char *path)
{
    return move_mount(mount, "", directory, path, MOVE_MOUNT_F_EMPTY_PATH);
}
