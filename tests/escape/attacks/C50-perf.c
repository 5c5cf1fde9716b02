/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: performance counters
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp capabilities user
 * control process: none
 * may-lack: perf_event_open
 */
#include "attack.h"

#include <linux/perf_event.h>

int main(void)
{
    struct perf_event_attr counter = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof(counter), .config = PERF_COUNT_SW_DUMMY};
    return tell(syscall(SYS_perf_event_open, &counter, 0, -1, -1, 0) >= 0);
}
