/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the content of a run's directory: see own_directory.h. Runs in the supervisor and its
 * children. */
#include "backends/process/sandbox/own_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/remove_tree.h"
#include "protocol/run_description.h"

int own_directory_hold(const char *directory, int *ret)
{
    char path[PATH_MAX];
    struct stat status;
    (void)snprintf(path, sizeof(path), "%s/" OWN_LOCK, directory);
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    bool locked = flock(fd, LOCK_SH | LOCK_NB) == 0;
    if (!locked && errno == EWOULDBLOCK)
        return -1;
    if (fstat(fd, &status) < 0)
        return -1;
    errno = ENOENT; /* removed between the two calls */
    if (status.st_nlink == 0)
        return -1;
    *ret = locked ? TAKE_FD(fd) : -1;
    return 0;
}

void own_directory_remove(const char *directory)
{
    static const char *const places[] = {RUN_HOME_NAME, RUN_TEMPORARY_NAME};
    char path[PATH_MAX];
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", directory, places[i]);
        remove_tree(path);
    }
    remove_tree(directory);
}
