/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B26
 * title: kill every process that can be seen
 * backends: docker, process
 * expect: completed exit | killed signal
 * layers: pid namespace
 * evidence: death
 * control docker: processes-of-other
 * control process: impossible it would kill the machine's processes
 */
#include "attack.h"

#include <signal.h>

int main(void)
{
    say("TRIED");
    (void)kill(-1, SIGKILL);
    return 0;
}
