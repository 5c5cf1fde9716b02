/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B28
 * title: keep orphans from the first process
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
    return tell(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
}
