/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C56
 * title: set a limit of the sandbox's first process
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 */
#include "attack.h"

#include <sys/resource.h>

int main(void)
{
    static const struct rlimit none = {0, 0};
    int reached = prlimit(1, RLIMIT_CORE, &none, NULL) == 0;
    return tell(reached || syscall(SYS_prlimit64, 1L << 32 | 1, RLIMIT_CORE, &none, NULL) == 0);
}
