/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B20
 * title: more processes than there may be (100)
 * backends: docker, process
 * expect: completed exit | completed process_limit
 * layers: process limit
 * evidence: tasks
 * control docker: pids
 * control process: pids
 */
#include "attack.h"

int main(void)
{
    say("TRIED");
    for (int i = 0; i < 100; i++)
        if (fork() == 0)
            return (int)sleep(1);
    return (int)sleep(1);
}
