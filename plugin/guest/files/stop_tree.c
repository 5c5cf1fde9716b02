/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the stop of a tree: see stop_tree.h. Runs in the first process of a sandbox. */
#include "guest/files/stop_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process_stat.h"
#include "guest/files/file_walk.h"

/* A process stops where it leaves the kernel: at once, but for one that writes much, or that waits
 * for its child to execute a program (vfork). That child has to go on for a moment. */
#define STOP_LIMIT_US (UINT64_C(2) * 1000000)
#define STOP_ROUND_US (UINT64_C(100) * 1000)
#define STOP_PAUSE_NS 50000
#define GO_ON_NS      10000000

static void rest(long nanoseconds)
{
    const struct timespec pause = {.tv_nsec = nanoseconds};
    (void)nanosleep(&pause, NULL);
}

/* Or has ended: nothing is running that could change a file. */
static bool is_stopped(int tasks, const char *task)
{
    char path[sizeof("/stat") + NAME_MAX];
    struct process_stat stat;
    (void)snprintf(path, sizeof(path), "%s/stat", task);
    return !process_stat_read(tasks, path, &stat) || process_stat_has_ended(&stat) ||
           stat.state == 'T' || stat.state == 't';
}

static void close_directory(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}

/* With every number in the directory: are all of them so? No such directory: yes, it has ended. */
static bool all_are(int parent, const char *name, bool (*is_so)(int directory, const char *number))
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(close_directory) DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (!directory)
        close_fd(fd);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' && !is_so(fd, entry->d_name))
            return false;
    return true;
}

static bool process_is_stopped(int processes, const char *number)
{
    char tasks[sizeof("/task") + NAME_MAX];
    if (strcmp(number, "1") == 0)
        return true;
    (void)snprintf(tasks, sizeof(tasks), "%s/task", number);
    return all_are(processes, tasks, is_stopped);
}

static bool child_is_stopped(pid_t pid)
{
    siginfo_t stopped = {.si_pid = 0};
    return waitid(P_PID, (id_t)pid, &stopped, WSTOPPED | WEXITED | WNOWAIT | WNOHANG) == 0 &&
           stopped.si_pid == pid;
}

struct descendants {
    pid_t spared;
    size_t count;
    bool are_stopped;
};

static bool see_descendant(pid_t pid, const struct process_stat *stat, void *user)
{
    struct descendants *seen = user;
    char number[16];
    (void)stat;
    seen->count++;
    if (pid == getpid() || pid == seen->spared)
        return true;
    (void)snprintf(number, sizeof(number), "/proc/%d", (int)pid);
    seen->are_stopped = process_is_stopped(AT_FDCWD, number);
    return seen->are_stopped;
}

/* More than the walk looks at are not known to be stopped. */
static bool descendants_are_stopped(pid_t spared)
{
    struct descendants seen = {.spared = spared, .are_stopped = true};
    return process_tree_walk(getpid(), see_descendant, &seen) && seen.are_stopped &&
           seen.count < PROCESS_TREE_MOST;
}

/* The programs say it themselves: /proc does not show a process that nobody may look at. */
static bool all_are_stopped(const pid_t *programs, size_t count, pid_t spared)
{
    for (size_t i = 0; i < count; i++)
        if (!child_is_stopped(programs[i]))
            return false;
    if (spared > 0)
        return descendants_are_stopped(spared);
    return access("/proc/1/stat", R_OK) == 0 && all_are(AT_FDCWD, "/proc", process_is_stopped);
}

/* Seen twice: one that was seen stopped may be sent on by one that was not yet. */
static bool stay_stopped(const pid_t *programs, size_t count, pid_t spared)
{
    for (int i = 0; i < 2; i++)
        if (!all_are_stopped(programs, count, spared))
            return false;
    return true;
}

void stop_all_but(pid_t spared)
{
    (void)kill(-1, SIGSTOP);
    if (spared > 0)
        (void)kill(spared, SIGCONT);
}

void continue_tree(void)
{
    (void)kill(-1, SIGCONT);
}

bool stop_tree(const pid_t *programs, size_t count, pid_t spared)
{
    uint64_t deadline_us = file_walk_now_us() + STOP_LIMIT_US;
    while (file_walk_now_us() < deadline_us) {
        uint64_t round_us = file_walk_now_us() + STOP_ROUND_US;
        do {
            stop_all_but(spared);
            if (stay_stopped(programs, count, spared))
                return true;
            rest(STOP_PAUSE_NS);
        } while (file_walk_now_us() < round_us);
        continue_tree();
        rest(GO_ON_NS);
    }
    return false;
}
