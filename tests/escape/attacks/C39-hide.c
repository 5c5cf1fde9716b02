/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C39
 * title: be a process that nobody looks into
 * backends: unprivileged
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control process: seccomp
 */
#include "attack.h"

#include <sys/prctl.h>

int main(void)
{
    return tell(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
}
