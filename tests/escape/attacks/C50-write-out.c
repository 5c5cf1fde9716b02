/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C50
 * title: have the machine's file systems written out; none is named
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 */
#include "attack.h"

int main(void)
{
    return tell(syncfs(-1) == 0 || errno == EBADF);
}
