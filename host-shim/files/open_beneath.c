/* SPDX-License-Identifier: Apache-2.0 */
/* Opens regular files. Any thread. */
#include "files/open_beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"

#define CODE "unreadable_file"
/* Non-blocking, so that a FIFO in the file's place cannot hang. */
#define FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static int check_regular(int opened, const char *path, uint64_t *ret_size, struct failure *failure)
{
    CLEANUP_CLOSE int fd = opened;
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0) {
        (void)failure_set_errno(failure, CODE, errno, "%s", path);
        return -1;
    }
    if (!S_ISREG(status.st_mode)) {
        (void)failure_set(failure, CODE, "%s: not a regular file", path);
        return -1;
    }
    *ret_size = (uint64_t)status.st_size;
    return TAKE_FD(fd);
}

int open_regular(const char *path, uint64_t *ret_size, struct failure *failure)
{
    return check_regular(open(path, FLAGS), path, ret_size, failure);
}

int open_regular_beneath(const char *directory, const char *path, uint64_t *ret_size,
                         struct failure *failure)
{
    CLEANUP_CLOSE int top = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (top < 0) {
        (void)failure_set_errno(failure, CODE, errno, "%s", directory);
        return -1;
    }
    const struct open_how how = {.flags = FLAGS,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                                            RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
    int fd = (int)syscall(SYS_openat2, top, path, &how, sizeof(how));
    return check_regular(fd, path, ret_size, failure);
}

int open_again(int fd)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}
