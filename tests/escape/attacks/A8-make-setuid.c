/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A8
 * title: make a program that gives its user to whoever executes it
 * backends: unprivileged
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control process: seccomp
 */
#include "attack.h"

#include <sys/stat.h>

struct how {
    unsigned long flags;
    unsigned long mode;
    unsigned long resolve;
};

static int is_made(int fd, const char *path)
{
    struct stat status = {.st_mode = 0};
    return fd >= 0 && stat(path, &status) == 0 && (status.st_mode & S_ISUID) != 0;
}

int main(void)
{
    const int flags = O_WRONLY | O_CREAT;
    struct how how = {.flags = O_WRONLY | O_CREAT, .mode = 04755};
    int reached = is_made((int)syscall(SYS_open, "by-open", flags, 04755), "by-open");
    reached |= is_made((int)syscall(SYS_openat, AT_FDCWD, "by-openat", flags, 04755), "by-openat");
    reached |= is_made((int)syscall(SYS_creat, "by-creat", 04755), "by-creat");
    reached |= is_made((int)syscall(SYS_mknod, "by-mknod", S_IFREG | 04755, 0), "by-mknod");
    reached |= is_made((int)syscall(SYS_mknodat, AT_FDCWD, "by-mknodat", S_IFREG | 04755, 0),
                       "by-mknodat");
    return tell(reached |
                is_made((int)syscall(SYS_openat2, AT_FDCWD, "by-openat2", &how, sizeof(how)),
                        "by-openat2"));
}
