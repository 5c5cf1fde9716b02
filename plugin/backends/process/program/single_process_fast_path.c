/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the look at the one process that is left: see single_process_fast_path.h. */
#include "backends/process/program/single_process_fast_path.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process_stat.h"

#define TEXT_SIZE 128 /* its one line is about 30 */

int single_process_fast_path_open(void)
{
    struct statfs status;
    CLEANUP_CLOSE int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    /* In containers it may be another file system's, which knows nothing of this namespace. */
    if (fd < 0 || fstatfs(fd, &status) < 0 || status.f_type != PROC_SUPER_MAGIC)
        return -1;
    return TAKE_FD(fd);
}

bool single_process_fast_path_applies(int loadavg, pid_t pid)
{
    char text[TEXT_SIZE];
    int last;
    ssize_t length = loadavg < 0 ? -1 : pread(loadavg, text, sizeof(text) - 1, 0);
    if (length <= 0)
        return false;
    text[length] = '\0';
    const char *number = strrchr(text, ' ');
    return number && sscanf(number, "%d", &last) == 1 && last == pid;
}

/* Has the process no child but these? An empty list is never wrong, nor one of children that only
 * this process waits for (fs/proc/array.c, get_children_pid()). */
static bool has_only(pid_t parent, const pid_t *known, size_t count)
{
    char text[TEXT_SIZE];
    (void)snprintf(text, sizeof(text), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    CLEANUP_CLOSE int fd = open(text, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (length < 0 || length == sizeof(text) - 1)
        return false;
    text[length] = '\0';
    char *rest = text;
    for (char *word; (word = strsep(&rest, " \n"));) {
        bool is_known = word[0] == '\0';
        for (size_t i = 0; i < count; i++)
            is_known = is_known || (pid_t)strtol(word, NULL, 10) == known[i];
        if (!is_known)
            return false;
    }
    return true;
}

/* Killed, it gets no child any more, and what it has only ever comes to this process: so its own
 * list is looked at first. */
bool single_process_is_left(pid_t pid, pid_t spared)
{
    const pid_t known[] = {pid, spared};
    struct process_stat stat;
    char path[TEXT_SIZE];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    return process_stat_read(AT_FDCWD, path, &stat) && stat.threads <= 1 &&
           stat.children_user_ticks + stat.children_system_ticks + stat.children_faults == 0 &&
           has_only(pid, known, 0) && has_only(getpid(), known, COUNT_OF(known));
}

/* As pid_t and these clocks are told apart in clockid_t: include/linux/posix-timers.h. */
enum process_clock { CLOCK_BOTH, CLOCK_USER, CLOCK_EXACT };

static bool read_clock(pid_t pid, enum process_clock clock, uint64_t *ret_us)
{
    struct timespec time;
    clockid_t number = (clockid_t)(~(unsigned int)pid << 3 | (unsigned int)clock);
    if (clock_gettime(number, &time) < 0)
        return false;
    *ret_us = (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
    return true;
}

/* The kernel counts user and system time in ticks, and their sum exactly. */
bool single_process_fast_path_usage(pid_t pid, struct tree_usage *ret)
{
    uint64_t both, user, exact;
    if (!read_clock(pid, CLOCK_BOTH, &both) || !read_clock(pid, CLOCK_USER, &user) ||
        !read_clock(pid, CLOCK_EXACT, &exact))
        return false;
    uint64_t user_us =
        both == 0 || user >= both ? exact : exact / both * user + exact % both * user / both;
    *ret = (struct tree_usage){.user_us = user_us, .system_us = exact - user_us};
    return true;
}
