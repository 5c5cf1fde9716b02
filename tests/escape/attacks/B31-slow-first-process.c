/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B31
 * title: have the sandbox's first process run behind all others
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 */
#include "attack.h"

#include <sched.h>
#include <sys/resource.h>

int main(void)
{
    struct sched_param ordinary = {.sched_priority = 0};
    struct {
        unsigned int size, policy;
        unsigned long long flags;
        int nice;
        unsigned int priority;
        unsigned long long times[3];
    } attributes = {.size = 48, .policy = SCHED_IDLE};
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    int reached = sched_setscheduler(1, SCHED_IDLE, &ordinary) == 0;
    reached |= sched_setparam(1, &ordinary) == 0;
    reached |= syscall(SYS_sched_setattr, 1, &attributes, 0) == 0;
    reached |= sched_setaffinity(1, sizeof(first), &first) == 0;
    reached |= setpriority(PRIO_PROCESS, 1, 19) == 0;
    return tell(reached | (setpriority(PRIO_USER, 0, 19) == 0));
}
