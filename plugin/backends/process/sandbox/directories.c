/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the making of directories and mount points: see directories.h. */
#include "backends/process/sandbox/directories.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The first length bytes of path. */
static int make_each_directory(int directory, const char *path, size_t length)
{
    char partial[PATH_MAX];
    if (length >= sizeof(partial)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (size_t i = 1; i <= length; i++) {
        if (i < length && path[i] != '/')
            continue;
        memcpy(partial, path, i);
        partial[i] = '\0';
        if (mkdirat(directory, partial, 0755) < 0 && errno != EEXIST)
            return -1;
    }
    return 0;
}

int make_directories(int directory, const char *path)
{
    return make_each_directory(directory, path, strlen(path));
}

int make_parent_directories(int directory, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? make_each_directory(directory, path, (size_t)(slash - path)) : 0;
}

int make_empty_file(int directory, const char *path)
{
    if (make_parent_directories(directory, path) < 0)
        return -1;
    CLEANUP_CLOSE int fd =
        openat(directory, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    return fd < 0 && errno != EEXIST ? -1 : 0;
}
