/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of those that are leaving: see leaving.h. Runs in the supervisor. */
#include "backends/process/supervisor/launch/leaving.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "base/cleanup.h"

#define GROUP_PAUSE_US 10000 /* between attempts on a busy group */

bool leaving_open(struct leaving *ret)
{
    ret->epoll = epoll_create1(EPOLL_CLOEXEC);
    return ret->epoll >= 0;
}

static void reap(struct first_process *process)
{
    pid_t pid;
    if (process->pid == 0)
        return;
    do
        pid = waitpid(process->pid, NULL, WNOHANG);
    while (pid < 0 && errno == EINTR);
    if (pid == 0)
        return;
    process->pid = 0;
    close_fd(TAKE_FD(process->pidfd)); /* which takes it out of the epoll as well */
}

static bool is_gone(struct first_process *process)
{
    reap(process);
    return process->pid == 0 && cgroup_remove(&process->cgroup) == 0;
}

void leaving_add(struct leaving *leaving, struct run_environment *environment,
                 struct first_process *process)
{
    close_fd(TAKE_FD(process->report));
    if (is_gone(process)) {
        first_process_free(environment, process);
        return;
    }
    process->next = leaving->first;
    leaving->first = process;
    /* One that cannot be watched is looked for again and again: see leaving_next(). */
    struct epoll_event event = {.events = EPOLLIN};
    if (process->pid != 0 && epoll_ctl(leaving->epoll, EPOLL_CTL_ADD, process->pidfd, &event) < 0)
        close_fd(TAKE_FD(process->pidfd));
}

void leaving_handle(struct leaving *leaving, struct run_environment *environment)
{
    struct first_process **place = &leaving->first;
    while (*place) {
        struct first_process *process = *place;
        if (!is_gone(process)) {
            place = &process->next;
            continue;
        }
        *place = process->next;
        first_process_free(environment, process);
    }
}

uint64_t leaving_next(const struct leaving *leaving, uint64_t now)
{
    for (const struct first_process *process = leaving->first; process; process = process->next)
        if (process->pidfd < 0)
            return now + GROUP_PAUSE_US;
    return 0;
}

bool leaving_has(const struct leaving *leaving, pid_t pid)
{
    for (const struct first_process *process = leaving->first; process; process = process->next)
        if (process->pid == pid)
            return true;
    return false;
}
