/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the way to a directory: see directory.h. */
#include "directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define OPEN_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

bool directory_id_equal(const struct directory_id *one, const struct directory_id *other)
{
    return one->device == other->device && one->inode == other->inode;
}

static int open_part(int parent, const char *part, size_t length)
{
    char name[NAME_MAX + 1];
    bool leads_elsewhere = length == 0 || (length == 1 && part[0] == '.') ||
                           (length == 2 && part[0] == '.' && part[1] == '.');
    if (leads_elsewhere || length > NAME_MAX) {
        errno = leads_elsewhere ? EINVAL : ENAMETOOLONG;
        return -1;
    }
    memcpy(name, part, length);
    name[length] = '\0';
    return openat(parent, name, OPEN_FLAGS);
}

/* A part at a time, each below the directory that the last one was found to be. openat2(2) with
 * RESOLVE_NO_SYMLINKS does the same in one call, but a container's seccomp profile that is older
 * than the call refuses it. */
int directory_open(const char *path, struct directory_id *ret)
{
    struct stat status;
    if (path[0] != '/') {
        errno = EINVAL;
        return -1;
    }
    CLEANUP_CLOSE int directory = open("/", OPEN_FLAGS);
    while (directory >= 0 && *path == '/') {
        size_t length = strcspn(++path, "/");
        int part = open_part(directory, path, length);
        int error = errno;
        close_fd(directory);
        directory = part;
        path += length;
        errno = error;
    }
    if (directory < 0 || fstat(directory, &status) < 0)
        return -1;
    *ret = (struct directory_id){.device = status.st_dev, .inode = status.st_ino};
    return TAKE_FD(directory);
}
