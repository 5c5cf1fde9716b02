/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the first steps of every backend program: see enter.h. */
#include "backends/common/enter.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/common/descriptor_limit.h"
#include "base/cleanup.h"
#include "protocol/channel.h"

/* A pidfd of the process that made the control socket, which must be our parent: between the two
 * looks at getppid() the number cannot have gone to somebody else. -1 where it has ended. */
static int open_host(void)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    pid_t parent = getppid();
    if (getsockopt(BACKEND_CONTROL_FD, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 ||
        peer.pid != parent || parent <= 0)
        return -1;
    CLEANUP_CLOSE int host = (int)syscall(SYS_pidfd_open, parent, 0);
    return host >= 0 && getppid() == parent ? TAKE_FD(host) : -1;
}

/* Leaves the host: it reaps the first process at once and keeps no child. */
static void leave_parent(void)
{
    pid_t pid = fork();
    if (pid != 0)
        _exit(pid < 0);
}

/* Whatever the host ignores or blocks would be handed down: an ignored SIGCHLD loses every exit
 * status. SIGKILL and SIGSTOP refuse, which is fine. */
static void reset_signals(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int settle(void)
{
    if (close_range(BACKEND_CONTROL_FD + 1, ~0U, 0) < 0 ||
        fcntl(BACKEND_CONTROL_FD, F_SETFD, FD_CLOEXEC) < 0 || chdir("/") < 0)
        return -1;
    (void)umask(077);
    reset_signals();
    descriptor_limit_raise();
    if (drop_scheduling_privileges() < 0)
        return -1;
    /* Root of a user namespace may be denied it, and is then denied the maps of a sandbox too. */
    if (geteuid() == 0 && setgroups(0, NULL) < 0 && errno != EPERM)
        return -1;
    return prctl(PR_SET_DUMPABLE, 0);
}

int backend_enter(void)
{
    if (settle() < 0)
        return -1;
    CLEANUP_CLOSE int host = open_host();
    if (host < 0)
        return -1;
    leave_parent();
    (void)setsid();
    return TAKE_FD(host);
}
