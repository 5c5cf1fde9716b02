/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C57
 * title: an address space without randomness
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 */
#include "attack.h"

#include <sys/personality.h>

int main(void)
{
    return tell(personality(ADDR_NO_RANDOMIZE) >= 0);
}
