/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C36
 * title: trace a process
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 */
#include "attack.h"

#include <sys/ptrace.h>

int main(void)
{
    return tell(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
}
