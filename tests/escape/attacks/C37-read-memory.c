/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C37
 * title: read the memory of a process of the host
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp, pid namespace
 * evidence: token
 * control docker: seccomp processes
 * control process: none
 */
#include "attack.h"

#include <sys/uio.h>

int main(void)
{
    char text[33] = "";
    struct iovec here = {text, 32};
    struct iovec there = {(void *)strtoul(getenv("ADDRESS"), NULL, 10), 32};
    (void)process_vm_readv(atoi(getenv("SENTINEL")), &here, 1, &there, 1, 0);
    (void)puts(text);
    return tell(0);
}
