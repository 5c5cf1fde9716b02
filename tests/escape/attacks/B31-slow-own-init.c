/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B31
 * title: hamper the first process, which counts what the run takes
 * backends: unprivileged
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control process: seccomp
 */
#include "attack.h"

#include <sys/resource.h>

int main(void)
{
    struct rlimit limit;
    pid_t init = getppid();
    int reached = setpriority(PRIO_PROCESS, (id_t)init, 19) == 0;
    return tell(reached | (prlimit(init, RLIMIT_CORE, NULL, &limit) == 0));
}
