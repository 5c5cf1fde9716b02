/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the removal: see remove_tree.h. */
#include "base/remove_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NO_REPLACE 1 /* RENAME_NOREPLACE; the headers of musl have neither it nor the function */

/* Its own bits may forbid a directory even to its owner. The descriptor is of that directory and no
 * link, and its name in /proc is the one way to change the mode behind an O_PATH. */
static void open_up(int directory, const char *name)
{
    CLEANUP_CLOSE int fd = openat(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char path[64];
    if (fd < 0)
        return;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    (void)chmod(path, 0700);
}

/* Takes one entry out of its directory; a directory that is not empty is moved to the top of the
 * tree instead, so that depth costs neither stack nor descriptors. true: something was done. */
static bool take_out(int top, int directory, const char *name, unsigned int *serial)
{
    if (unlinkat(directory, name, 0) == 0)
        return true;
    if (unlinkat(directory, name, AT_REMOVEDIR) == 0)
        return true;
    if (directory == top)
        return false;
    open_up(directory, name);
    char moved[32];
    for (int attempt = 0; attempt < 1000; attempt++) {
        (void)snprintf(moved, sizeof(moved), ".removed-%u", (*serial)++);
        if (syscall(SYS_renameat2, directory, name, top, moved, NO_REPLACE) == 0)
            return true;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

/* Empties the directory of that name below top. true: it held something, which is now gone from it.
 */
static bool empty_directory(int top, const char *name, unsigned int *serial)
{
    open_up(top, name);
    int fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    DIR *stream = fdopendir(fd);
    if (!stream) {
        close_fd(fd);
        return false;
    }
    bool progress = false;
    struct dirent *entry;
    while ((entry = readdir(stream)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            progress |= take_out(top, dirfd(stream), entry->d_name, serial);
    (void)closedir(stream);
    return progress;
}

/* One pass over the entries of the top directory. true: another one may achieve more. */
static bool empty_top(int top, unsigned int *serial)
{
    int copy = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    if (!stream) {
        close_fd(copy);
        return false;
    }
    bool progress = false;
    struct dirent *entry;
    while ((entry = readdir(stream))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (take_out(top, top, entry->d_name, serial) ||
            empty_directory(top, entry->d_name, serial))
            progress = true;
    }
    (void)closedir(stream);
    return progress;
}

void remove_tree(const char *path)
{
    {
        CLEANUP_CLOSE int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        unsigned int serial = 0;
        if (top >= 0) {
            (void)fchmod(top, 0700);
            while (empty_top(top, &serial))
                ;
        }
    }
    (void)rmdir(path);
}
