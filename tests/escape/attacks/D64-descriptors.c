/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: D64
 * title: more descriptors than there may be
 * backends: docker, process
 * expect: completed exit
 * layers: descriptor limit
 * evidence: proof
 * control docker: nofile
 * control process: impossible a root's own limit is the machine's
 */
#include "attack.h"

int main(void)
{
    int made = 0;
    while (made < 200 && dup(0) >= 0)
        made++;
    return tell(made == 200);
}
