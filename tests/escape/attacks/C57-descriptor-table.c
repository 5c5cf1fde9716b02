/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C57
 * title: segments of its own
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 * may-lack: modify_ldt
 */
#include "attack.h"

int main(void)
{
    char table[64];
    return tell(syscall(SYS_modify_ldt, 0, table, sizeof(table)) >= 0);
}
