/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: D64
 * title: more descriptors than there may be
 * backends: docker, process
 * expect: completed exit
 * layers: descriptor limit
 * evidence: proof
 * control docker: nofile
 * control process: rlimit-nofile
 */
#include "attack.h"

int main(void)
{
    int made = 0;
    while (made < 200 && dup(0) >= 0)
        made++;
    return tell(made == 200);
}
