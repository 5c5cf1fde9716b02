/* SPDX-License-Identifier: Apache-2.0 */
/* The program that tells from inside what it runs in, by its own system calls: one line a fact. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "inside_files.h"

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 4096; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static bool has_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capget, &header, data) < 0)
        return true;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        if (data[i].effective || data[i].permitted || data[i].inheritable)
            return true;
    return false;
}

/* Landlock is asked before the kernel misses the capability, which is another error. */
static const char *make_device(void)
{
    return mknod("/tmp/device", S_IFCHR, makedev(1, 3)) == 0 ? "made" : strerror(errno);
}

static void leave_file(const char *name, size_t length)
{
    static char bytes[INSIDE_LARGE];
    FILE *file = fopen(name, "we");
    memset(bytes, INSIDE_BYTE, length);
    if (!file || fwrite(bytes, 1, length, file) != length || fclose(file) != 0)
        (void)printf("%s: %s\n", name, strerror(errno));
}

int main(void)
{
    struct utsname name;
    struct rlimit core = {0, 0};
    struct stat status;
    (void)uname(&name);
    (void)getrlimit(RLIMIT_CORE, &core);
    (void)printf("descriptors %d\n", open_descriptors());
    (void)printf("pid %d, parent %d, uid %d, gid %d\n", (int)getpid(), (int)getppid(),
                 (int)getuid(), (int)getgid());
    (void)printf("no new privileges %d, capabilities %d, core %lu\n",
                 prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), has_capabilities(),
                 (unsigned long)core.rlim_max);
    (void)printf("host %s, shadow %d, root's home %d\n", name.nodename,
                 lstat("/etc/shadow", &status) == 0, lstat("/root", &status) == 0);
    (void)printf("unshare %d\n", (int)syscall(SYS_unshare, 0x10000000 /* CLONE_NEWUSER */));
    (void)printf("device %s\n", make_device());
    leave_file(INSIDE_LARGE_NAME, INSIDE_LARGE);
    leave_file(INSIDE_SMALL_NAME, INSIDE_SMALL);
    return 0;
}
