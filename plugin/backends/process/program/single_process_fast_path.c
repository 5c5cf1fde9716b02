/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the look at the one process that is left: see single_process_fast_path.h. */
#include "backends/process/program/single_process_fast_path.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

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
