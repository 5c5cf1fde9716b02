/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that tells from inside what it runs in, by its own system calls: one line a fact.
 *
 *   inside                    in namespaces of its own
 *   inside PATH               without them; PATH is a file of the machine that it may read
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "inside_files.h"

#define LEFT_SECONDS 60

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

static void tell_identity(void)
{
    struct utsname name;
    struct stat status;
    (void)uname(&name);
    (void)printf("pid %d, parent %d, uid %d, gid %d\n", (int)getpid(), (int)getppid(),
                 (int)getuid(), (int)getgid());
    (void)printf("host %s, shadow %d, root's home %d\n", name.nodename,
                 lstat("/etc/shadow", &status) == 0, lstat("/root", &status) == 0);
    (void)printf("device %s\n", make_device());
}

/* With the name of the call, as of one that fails. */
static void tell_refusal(const char *name, long result)
{
    (void)printf("%s %s\n", name, result < 0 ? strerror(errno) : "succeeds");
    if (result > STDERR_FILENO)
        (void)close((int)result);
}

/* The first process, which is the same user; what is open to be read by everybody, or is this
 * user's; and what a program cannot be given where there is no namespace around it. */
static void tell_domains(const char *path)
{
    char beside[PATH_MAX];
    (void)snprintf(beside, sizeof(beside), "%s.written", path);
    tell_refusal("signal", kill(getppid(), 0));
    tell_refusal("root", open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    tell_refusal("passwords", open("/etc/passwd", O_RDONLY | O_CLOEXEC));
    tell_refusal("processes", open("/proc/self/status", O_RDONLY | O_CLOEXEC));
    tell_refusal("writing", open(beside, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    (void)unlink(beside); /* of the control */
    tell_refusal("socket", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    tell_refusal("memory file", (int)syscall(SYS_memfd_create, "", 1U));
    (void)printf("mode %d\n", chmod(path, 0755)); /* the one that it has */
}

/* For the end of the run to find. */
/* The run is to end it. Where a control has taken away what does, it ends by itself. */
static void leave_process(void)
{
    if (fork() != 0)
        return;
    (void)setsid();
    (void)alarm(LEFT_SECONDS);
    for (;;)
        (void)pause();
}

int main(int count, char **words)
{
    struct rlimit core = {0, 0};
    if (count > 1)
        leave_process();
    (void)getrlimit(RLIMIT_CORE, &core);
    (void)printf("descriptors %d\n", open_descriptors());
    (void)printf("no new privileges %d, capabilities %d, core %lu\n",
                 prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), has_capabilities(),
                 (unsigned long)core.rlim_max);
    (void)printf("unshare %d\n", (int)syscall(SYS_unshare, 0x10000000 /* CLONE_NEWUSER */));
    if (count > 1)
        tell_domains(words[1]);
    else
        tell_identity();
    leave_file(INSIDE_LARGE_NAME, INSIDE_LARGE);
    leave_file(INSIDE_SMALL_NAME, INSIDE_SMALL);
    return 0;
}
