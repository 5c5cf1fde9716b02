/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C48
 * title: an internet socket by the 32-bit interface
 * backends: docker, process
 * expect: killed forbidden_syscall
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 * may-lack: i386 calls
 */
#include "attack.h"

int main(void)
{
    say("TRIED");
    long number = 359 /* socket */;
    __asm__ volatile("int $0x80"
                     : "+a"(number)
                     : "b"(2), "c"(1), "d"(0)
                     : "memory", "r8", "r9", "r10", "r11");
    return tell(number >= 0);
}
