/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B31
 * title: run before every ordinary process
 * backends: docker, process
 * expect: completed exit
 * layers: no capabilities
 * evidence: proof
 * control docker: impossible a control group has no real time unless its machine lets it
 * control process: none
 */
#include "attack.h"

#include <sched.h>

int main(void)
{
    struct sched_param real_time = {.sched_priority = 1};
    struct sched_param ordinary = {.sched_priority = 0};
    int reached = sched_setscheduler(0, SCHED_FIFO, &real_time) == 0;
    (void)sched_setscheduler(0, SCHED_OTHER, &ordinary);
    return tell(reached);
}
