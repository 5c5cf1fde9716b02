/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the identity of a sandbox: user, host name, cgroup path. Runs in pid 1 of a sandbox.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"

/* The supervisor has written the id maps, so the ids exist. Until here this process, the host's
 * root, has no id in its namespace. Capabilities stay, as no uid of the namespace is 0
 * (user_namespaces(7)). */
int enter_identity(struct sandbox *sandbox)
{
    (void)sandbox;
    if (setresgid(SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) < 0 ||
        setresuid(SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) < 0)
        return -1;
    if (getuid() == SANDBOX_UID && geteuid() == SANDBOX_UID && getgid() == SANDBOX_UID &&
        getegid() == SANDBOX_UID)
        return 0;
    errno = EPERM;
    return -1;
}

/* Closes /proc/1/{environ,exe,fd,mem} to the program, which runs as the same user: a readable init
 * would give away the supervisor's binary (CVE-2019-5736) and descriptors. Set before the program
 * exists, and never taken back. */
int become_unreadable(struct sandbox *sandbox)
{
    (void)sandbox;
    return prctl(PR_SET_DUMPABLE, 0);
}

/* An execve makes a process readable to its own user again, but the copy of an interpreter executes
 * nothing. It holds only that interpreter and, later, its own run. */
int become_readable_again(struct sandbox *sandbox)
{
    if (!sandbox->template->interpreter.fork)
        return STEP_NOT_FOR_THIS_RUN;
    return prctl(PR_SET_DUMPABLE, 1);
}

/* The limit of this process's own namespace, whatever an outer one allows. The seccomp filter
 * refuses nested namespaces as well; this holds should the filter not. */
int disable_nested_namespaces(struct sandbox *sandbox)
{
    (void)sandbox;
    CLEANUP_CLOSE int fd = open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    return write(fd, "0", 1) == 1 ? 0 : -1;
}

int set_host_name(struct sandbox *sandbox)
{
    static const char name[] = "sandbox";
    (void)sandbox;
    return sethostname(name, sizeof(name) - 1);
}

int enter_cgroup_namespace(struct sandbox *sandbox)
{
    (void)sandbox;
    return unshare(CLONE_NEWCGROUP);
}
