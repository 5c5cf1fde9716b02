/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns who the sandbox is: user, host name, cgroup path. Runs in pid 1 of a sandbox.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"

/* The supervisor has written the maps: the ids are to be had. As the host's root this process is
 * nobody in its namespace until here. Capabilities stay, as no uid of the namespace is 0
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

/* So that /proc/1/{environ,exe,fd,mem} is closed to the program, which runs as the same user: an
 * init that could be read would give away the supervisor's binary (CVE-2019-5736) and descriptors.
 * Before the program exists, and never taken back. */
int become_unreadable(struct sandbox *sandbox)
{
    (void)sandbox;
    return prctl(PR_SET_DUMPABLE, 0);
}

/* What executes a program is readable to its own user from there on, and the copy of an interpreter
 * executes nothing. It holds nothing but that interpreter and, later, its own run. */
int become_readable_again(struct sandbox *sandbox)
{
    if (!sandbox->template->interpreter.fork)
        return STEP_NOT_FOR_THIS_RUN;
    return prctl(PR_SET_DUMPABLE, 1);
}

/* The limit is that of the namespace this process is in, whoever may create more outside of it. The
 * seccomp filter refuses nested namespaces as well; this holds where the filter would not. */
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
