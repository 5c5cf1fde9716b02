/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the look at the one process that is left: see lone_process.h. */
#include "lone_process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../../cleanup.h"

#define TEXT_SIZE 1024 /* the kernel's longest line is about 400 */

/* The whole file, terminated: false where it does not fit or cannot be read. */
static bool read_text(const char *path, char ret[TEXT_SIZE])
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, ret, TEXT_SIZE);
    if (length < 0 || length == TEXT_SIZE)
        return false;
    ret[length] = '\0';
    return true;
}

/* proc_pid_stat(5), from the third field on: the second may have anything in it. */
static bool has_one_thread_and_waited_for_nobody(pid_t pid)
{
    char path[64];
    char text[TEXT_SIZE];
    uint64_t faults_of_children;
    int64_t threads;
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (!read_text(path, text))
        return false;
    const char *state = strrchr(text, ')');
    return state &&
           sscanf(state,
                  ") %*c %*s %*s %*s %*s %*s %*s %*s %" SCNu64
                  " %*s %*s %*s %*s %*s %*s %*s %*s %" SCNd64,
                  &faults_of_children, &threads) == 2 &&
           faults_of_children == 0 && threads == 1;
}

static bool children_are(pid_t pid, const char *wanted)
{
    char path[64];
    char text[TEXT_SIZE];
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    return read_text(path, text) && strcmp(text, wanted) == 0;
}

static bool waited_for_nobody(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_CHILDREN, &usage) == 0 && usage.ru_minflt == 0;
}

/* In this order: the children of one that ends become the caller's. */
bool lone_process_is(pid_t pid)
{
    char only[16];
    (void)snprintf(only, sizeof(only), "%d ", (int)pid);
    return has_one_thread_and_waited_for_nobody(pid) && children_are(pid, "") &&
           children_are(getpid(), only) && waited_for_nobody();
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

/* The kernel counts in ticks which of the two it was, and exactly how much it was together. */
bool lone_process_usage(pid_t pid, struct tree_usage *ret)
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
