/* SPDX-License-Identifier: Apache-2.0 */
/* Finding what a copy would not have: see checkpoint_obstacles.h. Each cell waits for it, so what
 * the kernel can tell in one call is asked so, and read from lists where an older one cannot. */
#include "backends/process/sandbox/checkpoint_obstacles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/process/program/copy_obstacles.h"

/* A directory has two links of its own, and that of the threads one more for each (Linux since
 * 2.6). */
#define LINKS_OF_ONE_THREAD 3

/* Entries of a directory; -1: it cannot be read. */
static int count_entries(const char *path)
{
    DIR *stream = opendir(path);
    int count = 0;
    if (!stream)
        return -1;
    for (struct dirent *found; (found = readdir(stream));)
        count += found->d_name[0] != '.';
    (void)closedir(stream);
    return count;
}

/* The size of that directory is their number from Linux 6.2 on. The list has the directory's own.
 */
int checkpoint_count_descriptors(void)
{
    struct stat status;
    if (stat("/proc/self/fd", &status) == 0 && status.st_size > 0 && status.st_size < INT32_MAX)
        return (int)status.st_size;
    int count = count_entries("/proc/self/fd");
    return count > 0 ? count - 1 : -1;
}

static bool has_threads(void)
{
    struct stat status;
    return !(stat("/proc/self/task", &status) == 0 && status.st_nlink == LINKS_OF_ONE_THREAD) &&
           count_entries("/proc/self/task") != 1;
}

enum checkpoint_word checkpoint_find_obstacle(int descriptors, size_t children, bool init_looks)
{
    if (has_threads())
        return CHECKPOINT_THREADS;
    if (!init_looks && copy_obstacles_has_children(getpid(), children))
        return CHECKPOINT_PROCESSES;
    if (descriptors < 0 || checkpoint_count_descriptors() != descriptors)
        return CHECKPOINT_DESCRIPTORS;
    return !init_looks && copy_obstacles_shares_memory(getpid()) ? CHECKPOINT_SHARED_MEMORY
                                                                 : CHECKPOINT_TAKEN;
}
