/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the look at a process whose call is held: see caller.h. */
#include "backends/process/program/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ENTRY_SIZE 64 /* of the name of an entry in /proc */

int caller_open(pid_t caller, int fd)
{
    char entry[ENTRY_SIZE];
    if (fd == AT_FDCWD)
        (void)snprintf(entry, sizeof(entry), "/proc/%d/cwd", (int)caller);
    else
        (void)snprintf(entry, sizeof(entry), "/proc/%d/fd/%d", (int)caller, fd);
    int opened = fd == AT_FDCWD || fd >= 0 ? open(entry, O_PATH | O_CLOEXEC) : -1;
    if (opened < 0)
        errno = errno == EACCES ? EPERM : EBADF;
    return opened;
}

/* C libraries change a symbolic link's mode by this name of a descriptor, and find it to be none.
 */
static bool is_own_descriptor(const char *path, int *ret)
{
    int length = 0;
    return sscanf(path, "/proc/self/fd/%9d%n", ret, &length) == 1 && path[length] == '\0' &&
           *ret >= 0;
}

int caller_open_path(pid_t caller, int directory, const char *path, int flags)
{
    int fd;
    const struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
                                 .resolve = RESOLVE_NO_MAGICLINKS};
    if (flags == 0 && is_own_descriptor(path, &fd))
        return caller_open(caller, fd);
    CLEANUP_CLOSE int start = path[0] == '/' ? -1 : caller_open(caller, directory);
    if (path[0] != '/' && start < 0)
        return -1;
    int opened = (int)syscall(SYS_openat2, start, path, &how, sizeof(how));
    /* A container's seccomp profile may be older than the call. */
    if (opened < 0 && (errno == ENOSYS || errno == EPERM))
        opened = openat(start, path, O_PATH | O_CLOEXEC | flags);
    return opened;
}

static ssize_t read_memory(pid_t caller, uint64_t address, void *ret, size_t size)
{
    char entry[ENTRY_SIZE];
    (void)snprintf(entry, sizeof(entry), "/proc/%d/mem", (int)caller);
    CLEANUP_CLOSE int memory = open(entry, O_RDONLY | O_CLOEXEC);
    if (memory < 0) {
        errno = EPERM;
        return -1;
    }
    ssize_t length = pread(memory, ret, size, (off_t)address);
    errno = EFAULT;
    return length;
}

bool caller_read(pid_t caller, uint64_t address, void *ret, size_t size)
{
    return read_memory(caller, address, ret, size) == (ssize_t)size;
}

bool caller_read_path(pid_t caller, uint64_t address, char *ret, size_t size)
{
    ssize_t length = read_memory(caller, address, ret, size);
    if (length > 0 && memchr(ret, '\0', (size_t)length))
        return true;
    if (length == (ssize_t)size)
        errno = ENAMETOOLONG;
    return false;
}
