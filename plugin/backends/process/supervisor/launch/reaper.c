/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of processes that are to be reaped: see reaper.h. Runs in the supervisor. */
#include "backends/process/supervisor/launch/reaper.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "base/cleanup.h"

#define GROUP_PAUSE_US 10000 /* between attempts on a busy group */

bool reaper_open(struct reaper *ret, struct run_environment *environment)
{
    ret->epoll = epoll_create1(EPOLL_CLOEXEC);
    ret->environment = environment;
    return ret->epoll >= 0;
}

static void reap_process(struct sandbox_handle *process)
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

/* One that cannot be watched is polled: see reaper_next(). */
static void watch(const struct reaper *reaper, struct sandbox_handle *process)
{
    struct epoll_event event = {.events = EPOLLIN};
    if (process->pid != 0 && epoll_ctl(reaper->epoll, EPOLL_CTL_ADD, process->pidfd, &event) < 0)
        close_fd(TAKE_FD(process->pidfd));
}

static bool is_gone(const struct reaper *reaper, struct sandbox_handle *process)
{
    reap_process(process);
    if (process->pid != 0 || cgroup_remove(&process->cgroup) < 0)
        return false;
    process->pid = run_directory_begin_removal(&process->directory, &process->pidfd);
    watch(reaper, process);
    return process->pid == 0;
}

void reaper_add(struct reaper *reaper, struct sandbox_handle *process)
{
    close_fd(TAKE_FD(process->report));
    reap_process(process);
    watch(reaper, process);
    if (is_gone(reaper, process)) {
        sandbox_handle_free(reaper->environment, process);
        return;
    }
    process->next = reaper->first;
    reaper->first = process;
}

void reaper_handle(struct reaper *reaper)
{
    struct sandbox_handle **place = &reaper->first;
    while (*place) {
        struct sandbox_handle *process = *place;
        if (!is_gone(reaper, process)) {
            place = &process->next;
            continue;
        }
        *place = process->next;
        sandbox_handle_free(reaper->environment, process);
    }
}

uint64_t reaper_next(const struct reaper *reaper, uint64_t now)
{
    for (const struct sandbox_handle *process = reaper->first; process; process = process->next)
        if (process->pidfd < 0)
            return now + GROUP_PAUSE_US;
    return 0;
}

bool reaper_has(const struct reaper *reaper, pid_t pid)
{
    for (const struct sandbox_handle *process = reaper->first; process; process = process->next)
        if (process->pid == pid)
            return true;
    return false;
}

/* false: it was swept before, or there is no room to note it. */
static bool note_place(struct reaper *reaper, const char *place)
{
    for (size_t i = 0; i < SWEPT_PLACES; i++) {
        if (strcmp(reaper->swept[i], place) == 0)
            return false;
        if (!reaper->swept[i][0])
            return snprintf(reaper->swept[i], RUN_DIRECTORY_SIZE, "%s", place) < RUN_DIRECTORY_SIZE;
    }
    return false;
}

static void sweep_place(struct reaper *reaper, const char *place)
{
    struct sandbox_handle *child = sandbox_handle_new();
    if (!child)
        return;
    reaper->strays += run_directories_sweep(place, &child->pid, &child->pidfd);
    reaper_add(reaper, child);
}

void reaper_sweep(struct reaper *reaper, const char *scratch_directory)
{
    const char *places[RUN_DIRECTORY_PLACES];
    size_t count = run_directory_places(scratch_directory, places);
    for (size_t i = 0; i < count; i++)
        if (note_place(reaper, places[i]))
            sweep_place(reaper, places[i]);
}
