/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of a process's line in /proc: see process_stat.h. */
#include "base/process_stat.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define STAT_SIZE 1024

bool process_stat_read(int directory, const char *path, struct process_stat *ret)
{
    char text[STAT_SIZE];
    struct process_stat stat;
    uint64_t times[4];
    uint64_t faults[2];
    CLEANUP_CLOSE int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (length <= 0)
        return false;
    text[length] = '\0';
    const char *rest = strrchr(text, ')'); /* the name in brackets may have any bytes */
    if (!rest || sscanf(rest,
                        ") %c %d %*d %*d %*d %*d %*u %*u %" SCNu64 " %*u %" SCNu64 " %" SCNu64
                        " %" SCNu64 " %" SCNu64 " %" SCNu64 " %*d %*d %u %*d %" SCNu64,
                        &stat.state, &stat.parent, &faults[0], &faults[1], &times[0], &times[1],
                        &times[2], &times[3], &stat.threads, &stat.start_ticks) != 10)
        return false;
    stat.user_ticks = times[0] + times[2];
    stat.system_ticks = times[1] + times[3];
    stat.children_user_ticks = times[2];
    stat.children_system_ticks = times[3];
    stat.children_faults = faults[0] + faults[1];
    *ret = stat;
    return true;
}

bool process_stat_has_ended(const struct process_stat *stat)
{
    return strchr("ZXx", stat->state);
}
