/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the giving up of what a host has before others: see enter.h. Runs in the backend
 * programs, at their start. */
#include "backends/common/enter.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* ioprio_set(2), which has no header. */
#define IOPRIO_OF_PROCESS   1
#define IOPRIO_CLASS(value) ((value) >> 13)
#define IOPRIO_LEVEL(value) ((value)&7)
#define IOPRIO_NONE         0 /* follows the processor's priority */
#define IOPRIO_REAL_TIME    1
#define IOPRIO_BEST_EFFORT  2
#define IOPRIO_USUAL_LEVEL  4

static int leave_real_time(void)
{
    static const struct sched_param ordinary = {.sched_priority = 0};
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    if (policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE)
        return 0;
    return sched_setscheduler(0, SCHED_OTHER, &ordinary);
}

static int leave_priority(void)
{
    return getpriority(PRIO_PROCESS, 0) < 0 ? setpriority(PRIO_PROCESS, 0, 0) : 0;
}

static int leave_disk_priority(void)
{
    long priority = syscall(SYS_ioprio_get, IOPRIO_OF_PROCESS, 0);
    if (priority < 0)
        return 0; /* a kernel without any */
    bool before_others = IOPRIO_CLASS(priority) == IOPRIO_REAL_TIME ||
                         (IOPRIO_CLASS(priority) == IOPRIO_BEST_EFFORT &&
                          IOPRIO_LEVEL(priority) < IOPRIO_USUAL_LEVEL);
    return before_others ? (int)syscall(SYS_ioprio_set, IOPRIO_OF_PROCESS, 0, IOPRIO_NONE) : 0;
}

/* Raising it needs no privilege. */
static int leave_protection_from_lack_of_memory(void)
{
    char text[16];
    CLEANUP_CLOSE int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (length <= 0 || text[0] != '-')
        return 0;
    CLEANUP_CLOSE int out = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    return out >= 0 && write(out, "0", 1) == 1 ? 0 : -1;
}

int drop_scheduling_privileges(void)
{
    if (leave_real_time() < 0 || leave_priority() < 0 || leave_disk_priority() < 0)
        return -1;
    return leave_protection_from_lack_of_memory();
}
