/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the clone: see sandbox_clone.h. */
#include "backends/process/sandbox/sandbox_clone.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/process/messages/namespaces.h"
#include "backends/process/program/main_program.h"

pid_t clone_process(unsigned long flags, int *pidfd)
{
    return (pid_t)syscall(SYS_clone, flags | SIGCHLD | (pidfd ? CLONE_PIDFD : 0), NULL, pidfd, NULL,
                          0);
}

/* The id maps of a process that is not dumpable are root's; a copy is as its original was. */
pid_t clone_sandbox(unsigned long flags, int *pidfd)
{
    bool is_root = geteuid() == 0;
    if (!is_root)
        (void)prctl(PR_SET_DUMPABLE, 1);
    pid_t pid = clone_process(flags, pidfd);
    int error = errno;
    if (pid != 0 && !is_root)
        (void)prctl(PR_SET_DUMPABLE, 0);
    errno = error;
    return pid;
}

unsigned long sandbox_namespace_flags(const struct sandbox_template *template)
{
    unsigned long flags = 0;
    if (template->isolation == RUN_ISOLATION_UNPRIVILEGED)
        return 0;
    for (int i = 0; i < NAMESPACE_COUNT; i++)
        if (i != NAMESPACE_NETWORK || !template->network)
            flags |= namespace_kinds[i].flag;
    return flags;
}

void arrange_report(int report)
{
    if (dup2(report, CHILD_REPORT_FD) < 0 || fcntl(CHILD_REPORT_FD, F_SETFD, FD_CLOEXEC) < 0 ||
        close_range(CHILD_REPORT_FD + 1, ~0U, 0) < 0)
        main_program_fail(report, RUN_FAILURE_INTERNAL, errno, "arrange descriptors");
}
