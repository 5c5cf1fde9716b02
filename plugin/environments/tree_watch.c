/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the watch: see tree_watch.h. */
#include "environments/tree_watch.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Of a directory and of what is in it; nothing that reading does. */
#define CHANGES                                                                       \
    (IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | \
     IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF)

struct watching {
    int fd;
    int directory; /* the top */
};

static bool watch_directory(void *user, const struct tree_entry *entry, struct error *error)
{
    const struct watching *watching = user;
    char path[PATH_MAX];
    if (!S_ISDIR(entry->status->st_mode))
        return true;
    int length =
        snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", watching->directory, entry->path);
    if (length >= 0 && length < (int)sizeof(path) &&
        inotify_add_watch(watching->fd, path, CHANGES | IN_ONLYDIR) >= 0)
        return true;
    (void)error_set_errno(error, ERROR_INTERNAL, errno, "inotify_add_watch");
    return false;
}

bool tree_watch_begin(int directory, const struct tree_limits *limits, struct tree_watch *ret)
{
    struct stat status;
    struct error ignored;
    CLEANUP(tree_watch_end) struct tree_watch watch = {.fd = inotify_init1(IN_CLOEXEC)};
    struct watching watching = {.fd = watch.fd, .directory = directory};
    struct tree_walk walk = {.limits = limits, .visit = watch_directory, .user = &watching};
    if (watch.fd < 0 || fstat(directory, &status) < 0 || !tree_walk_run(directory, &walk, &ignored))
        return false;
    watch.device = status.st_dev;
    watch.inode = status.st_ino;
    if (!tree_watch_is_quiet(&watch, directory))
        return false;
    *ret = watch;
    watch.fd = -1;
    return true;
}

/* What is told is never read: it stays, and the watch has said all that it has to say. */
bool tree_watch_is_quiet(const struct tree_watch *watch, int directory)
{
    struct pollfd told = {.fd = watch->fd, .events = POLLIN};
    struct stat status;
    return watch->fd >= 0 && fstat(directory, &status) == 0 && status.st_dev == watch->device &&
           status.st_ino == watch->inode && poll(&told, 1, 0) == 0;
}

void tree_watch_end(struct tree_watch *watch)
{
    close_fd(TAKE_FD(watch->fd));
}
